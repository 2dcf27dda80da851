/** reference_policy = "fhir": a reference may point at what the server does not hold; its type is still checked. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import references from '../../../plugins/references/index.ts'
import { type Answered, type Clinic, clinicWith, type Json, post } from '../writes/clinic.ts'

let clinic: Clinic
test.before(async () => {
  clinic = await clinicWith({ conformance: { reference_policy: 'fhir', update_as_create: true } }, [references])
})
test.after(() => clinic.stop())

const subject = (reference: Json): Promise<Answered> =>
  clinic.ask('POST', '/Observation', {
    resourceType: 'Observation',
    status: 'final',
    code: { text: 'x' },
    subject: reference,
  })

test('what is not held may be referred to, here and elsewhere', async () => {
  for (const reference of [
    'Patient/nobody',
    'Patient/nobody/_history/7',
    'http://other.example/fhir/Group/1',
    'urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0',
    'http://other.example/anything',
    '../x',
    'Patient?identifier=x',
  ])
    assert.is((await subject({ reference })).status, 201, reference)
})

test('a type that may not stand there is refused, wherever it is', async () => {
  for (const reference of [
    { reference: 'Organization/1' },
    { reference: 'http://other.example/fhir/Organization/1' },
    { reference: 'Foo/1' },
    { identifier: { value: '1' }, type: 'Organization' },
    { reference: 'Patient/1', type: 'Practitioner' },
  ]) {
    const answer = await subject(reference)
    assert.is(answer.status, 422, JSON.stringify(reference))
    const [{ code, expression }] = answer.json.issue
    assert.equal([code, expression], ['business-rule', ['Observation.subject']])
  }
})

test('in a transaction the entry is named', async () => {
  const answer = await clinic.bundle('transaction', [
    post({ resourceType: 'Patient' }),
    post({ resourceType: 'Patient', managingOrganization: { reference: 'Patient/1' } }),
  ])
  assert.is(answer.status, 422)
  assert.equal(answer.json.issue[0].expression, ['Bundle.entry[1].resource.managingOrganization'])
})

test('what others refer to may be deleted', async () => {
  const id = await clinic.create({ resourceType: 'Patient' })
  assert.is((await subject({ reference: `Patient/${id}` })).status, 201)
  assert.is((await clinic.ask('DELETE', `/Patient/${id}`)).status, 204)
})

test('/metadata says that references may be anything', async () => {
  const { rest } = (await clinic.ask('GET', '/metadata')).json
  assert.equal(rest[0].resource[0].referencePolicy, ['literal', 'logical'])
})

test.run()
