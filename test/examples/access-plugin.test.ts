/** examples/access-plugin.ts over HTTP. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import accessPlugin from '../../examples/access-plugin.ts'
import { clinicWith, type Json } from '../server/writes/clinic.ts'
import { named } from '../support/named-callers.ts'

const as = (user: string) => ({ headers: { 'x-test-client': 'app', 'x-test-user': user } })
const observation = (patient: string): Json => ({
  resourceType: 'Observation',
  status: 'final',
  code: { text: 'x' },
  subject: { reference: `Patient/${patient}` },
})

test('a patient writes and reads the own record, and nothing tells of another', async () => {
  const clinic = await clinicWith({}, [named, accessPlugin])
  try {
    const made = await clinic.ask('POST', '/Observation', observation('a'), as('Patient/a'))
    assert.is(made.status, 201, made.text)
    const url = `/Observation/${made.json.id}`
    const statuses = async (asking: { headers: Record<string, string> }): Promise<readonly number[]> => [
      (await clinic.ask('GET', url, undefined, asking)).status,
      (await clinic.ask('PUT', url, { ...observation('b'), id: made.json.id }, asking)).status,
      (await clinic.ask('DELETE', url, undefined, asking)).status,
    ]
    assert.equal(await statuses(as('Patient/b')), [404, 404, 404])
    assert.equal(await statuses(as('Practitioner/c')), [403, 403, 403])
    assert.is((await clinic.ask('GET', url)).status, 403)
    const total = async (user: string): Promise<number> =>
      (await clinic.ask('GET', '/Observation?_total=accurate', undefined, as(user))).json.total
    assert.equal([await total('Patient/a'), await total('Patient/b')], [1, 0])
    assert.is((await clinic.ask('POST', '/Observation', observation('b'), as('Patient/a'))).status, 403)
    assert.is((await clinic.ask('GET', '/Practitioner', undefined, as('Patient/a'))).status, 403)
    // Out of the own record it may not be moved either.
    assert.equal(await statuses(as('Patient/a')), [200, 403, 204])
  } finally {
    await clinic.stop()
  }
})

test.run()
