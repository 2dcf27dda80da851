/** examples/operations-plugin.ts over HTTP. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import operationsPlugin from '../../examples/operations-plugin.ts'
import { clinicWith } from '../server/writes/clinic.ts'

test('one operation counts what there is, the other changes it once', async () => {
  const clinic = await clinicWith({}, [operationsPlugin])
  const id = await clinic.create({ resourceType: 'Patient', active: true })
  const code = (value: string) => ({ coding: [{ system: 'http://loinc.org', code: value }] })
  for (const one of ['1', '1', '2'])
    await clinic.create({ resourceType: 'Observation', subject: { reference: `Patient/${id}` }, code: code(one) })
  const counted = async (query: string) =>
    (await clinic.ask('GET', `/Patient/${id}/$count-observations${query}`)).json.parameter[0].valueInteger
  assert.is(await counted(''), 3)
  assert.is(await counted('?code=1'), 2)
  const retire = () => clinic.ask('POST', `/Patient/${id}/$retire`)
  for (let time = 0; time < 2; time += 1) {
    const { status, json } = await retire()
    assert.equal([status, json.active, json.meta.versionId], [200, false, '2'])
  }
  assert.is((await clinic.ask('GET', `/Patient/${id}/$retire`)).status, 405)
  await clinic.stop()
})

test.run()
