/** A restriction that names a type or compartment that there is none of is a 500 on every path, and never open. */
// database: sqlite, because names are looked up before anything is asked of the database
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { ALL, definePlugin, type Restriction } from '../../../kernel/index.ts'
import metering from '../../../plugins/metering/index.ts'
import { type Clinic, clinicWith } from '../writes/clinic.ts'

let restriction: Restriction | undefined
const gate = definePlugin({
  name: 'gate',
  setup({ hooks }) {
    hooks.authorize.tap('restrict', (_request, _interaction, ruling) => {
      if (restriction !== undefined) ruling.restrict(restriction)
    })
  },
})

let clinic: Clinic
test.before(async () => {
  clinic = await clinicWith({}, [gate, metering])
  const resource = { resourceType: 'Patient', id: 'p1' }
  assert.is((await clinic.ask('PUT', '/Patient/p1', resource)).status, 201)
})
test.after.each(() => {
  restriction = undefined
})
test.after(() => clinic.stop())

const p1 = { resourceType: 'Patient', id: 'p1', active: true }
const statuses = async (): Promise<readonly number[]> => {
  const found: number[] = []
  for (const [method, url, body] of [
    ['GET', '/Patient/p1'],
    ['GET', '/Patient'],
    ['GET', '/Patient?_id=p1&_summary=count'],
    ['GET', '/Patient/p1/_history'],
    ['GET', '/Patient/_history'],
    ['GET', '/_history'],
    ['GET', '/Patient/p1/_history/1'],
    ['PUT', '/Patient/p1', p1],
    ['POST', '/Patient', { resourceType: 'Patient' }],
    ['DELETE', '/Patient/p1'],
    ['GET', '/_usage'],
  ] as const)
    found.push((await clinic.ask(method, url, body)).status)
  return found
}
const grant = { rights: 'cruds' } as const

for (const [what, wrong] of Object.entries<Restriction>({
  'a type in lower case': { types: { patient: [] }, others: [ALL] },
  'a misspelt type': { types: { Pateint: [] }, others: [ALL] },
  'an empty type': { types: { '': [] }, others: [ALL] },
  'a type every object has': { types: { constructor: [] }, others: [ALL] },
  'a compartment of no definition': {
    types: { Observation: [{ ...grant, compartment: { type: 'Organization', id: 'x' } }] },
    others: [ALL],
  },
  'a compartment of no type': { types: {}, others: [{ ...grant, compartment: { type: 'Nope', id: 'x' } }, ALL] },
}))
  test(`${what} is a 500, also the second time`, async () => {
    restriction = wrong
    for (const _time of [1, 2])
      assert.ok(
        (await statuses()).every((one) => one === 500),
        what,
      )
    restriction = Object.freeze({ ...wrong })
    assert.ok(
      (await statuses()).every((one) => one === 500),
      what,
    )
  })

test('names that are known are not refused, and admin endpoints are granted as AuditEvent', async () => {
  restriction = {
    types: { AuditEvent: [{ rights: 'r' }], Patient: [{ rights: 'rs', compartment: { type: 'Patient', id: 'p1' } }] },
    others: [],
  }
  assert.is((await clinic.ask('GET', '/Patient/p1')).status, 200)
  assert.is((await clinic.ask('GET', '/_usage')).status, 200)
})

test.run()
