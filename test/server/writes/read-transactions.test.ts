/** A transaction that only reads shows one state, whatever is committed between its entries. */
// npm test: postgres, where transactions overlap
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { clinicWith, get, type Json, put } from './clinic.ts'

const READS = 200

test('its entries are of one state while others change what they show, together', async () => {
  const clinic = await clinicWith()
  const write = (n: number) =>
    clinic.bundle('transaction', [
      put({ resourceType: 'Patient', id: 'p', birthDate: String(1900 + n) }),
      put({ resourceType: 'Observation', id: 'o', status: 'final', code: { text: String(1900 + n) } }),
    ])
  assert.is((await write(0)).status, 200)
  let isOver = false
  const writing = (async () => {
    let n = 0
    for (; !isOver; n += 1) assert.is((await write(n % 100)).status, 200)
    return n
  })()
  const torn: string[] = []
  const seen = new Set<string>()
  try {
    for (let n = 0; n < READS; n += 1) {
      const { status, json, text } = await clinic.bundle('transaction', [
        get('Patient/p'),
        get('Observation/o'),
        get('Patient?_id=p'),
      ])
      assert.is(status, 200, text)
      const [patient, observation, found] = json.entry.map(({ resource }: Json) => resource) as Json[]
      const states = [patient!.birthDate, observation!.code.text, found!.entry[0].resource.birthDate] as string[]
      if (new Set(states).size > 1) torn.push(states.join(' '))
      seen.add(states[0] as string)
    }
  } finally {
    isOver = true
  }
  const written = await writing
  assert.equal(torn, [])
  assert.ok(written > 10 && seen.size > 5, `${written} writes, ${seen.size} states seen`)
  await clinic.stop()
})

test.run()
