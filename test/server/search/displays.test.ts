/** Displays, which `:text` finds, and transactions that are undone. https://hl7.org/fhir/R4/search.html#token */
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Clinic, clinicWith, post, put } from '../writes/clinic.ts'

let clinic: Clinic
test.before(async () => {
  clinic = await clinicWith()
})
test.after(() => clinic.stop())

const observation = {
  resourceType: 'Observation',
  status: 'final',
  code: { coding: [{ code: 'x', display: 'Rare display' }] },
}

/** Fails inside the transaction, after what is created. */
const staleUpdate = async () => {
  const id = await clinic.create({ resourceType: 'Patient' })
  return put({ resourceType: 'Patient', id }, undefined, { ifMatch: 'W/"7"' })
}

test('a display that was met first in transactions that failed is found once it is stored', async () => {
  const stale = await staleUpdate()
  for (let n = 0; n < 3; n += 1) {
    const refused = await clinic.bundle('transaction', [post(observation), stale])
    assert.ok(refused.status >= 400, refused.text)
  }
  await clinic.create(observation)
  const { json } = await clinic.ask('GET', '/Observation?code:text=rare')
  assert.is(json.entry?.length, 1)
})

test('a transaction that fails among others undoes nothing but itself', async () => {
  const stale = await staleUpdate()
  const patient = (family: string) => post({ resourceType: 'Patient', name: [{ family }] })
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      clinic.bundle('transaction', n % 5 === 2 ? [patient(`Undone${n}`), stale] : [patient(`Kept${n}`)]),
    ),
  )
  assert.equal(
    answers.map(({ status }) => status === 200),
    Array.from({ length: 20 }, (_, n) => n % 5 !== 2),
  )
  const count = async (name: string) => (await clinic.ask('GET', `/Patient?family=${name}&_summary=count`)).json.total
  assert.is(await count('Kept'), 16)
  assert.is(await count('Undone'), 0)
})

test.run()
