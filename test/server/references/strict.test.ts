/** reference_policy = "strict": references point at what this server holds, of a type that may stand there. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import references from '../../../plugins/references/index.ts'
import validation from '../../../plugins/validation/index.ts'
import { type Answered, type Clinic, clinicWith, del, type Json, post, put } from '../writes/clinic.ts'

let clinic: Clinic
let patient = ''
test.before(async () => {
  clinic = await clinicWith({ server: { public_url: 'http://clinic.example' } }, [references])
  patient = await clinic.create({ resourceType: 'Patient' })
})
test.after(() => clinic.stop())

const observation = (more: Json): Json => ({
  resourceType: 'Observation',
  status: 'final',
  code: { text: 'x' },
  ...more,
})
const create = (resource: Json): Promise<Answered> => clinic.ask('POST', `/${resource.resourceType}`, resource)
const subject = (reference: string): Promise<Answered> => create(observation({ subject: { reference } }))
const issuesOf = ({ json }: Answered): readonly [string, string, string][] =>
  json.issue.map(({ code, expression, diagnostics }: Json) => [code, expression?.[0], diagnostics])
const refused = (answer: Answered, code: string, place: string, says: RegExp): void => {
  assert.is(answer.status, 422, answer.text)
  assert.is(answer.json.issue.length, 1, answer.text)
  const [[issue, expression, diagnostics] = []] = issuesOf(answer)
  assert.equal([issue, expression], [code, place])
  assert.match(diagnostics as string, says)
}

test('a reference to what is held is stored as it was sent', async () => {
  const answer = await subject(`Patient/${patient}`)
  assert.is(answer.status, 201, answer.text)
  assert.is(answer.json.subject.reference, `Patient/${patient}`)
})

test('a reference to nothing is refused with its path and its target, and nothing is stored', async () => {
  const before = (await clinic.ids('Observation')).length
  refused(await subject('Patient/nobody'), 'not-found', 'Observation.subject', /Patient\/nobody.*does not hold/)
  assert.is((await clinic.ids('Observation')).length, before)
})

test('every broken reference is told, at any depth: contained, in extensions, of primitives, in data types', async () => {
  const answer = await create({
    resourceType: 'Patient',
    managingOrganization: { reference: 'Organization/a' },
    generalPractitioner: [{ reference: `Patient/${patient}` }, { reference: 'Practitioner/b' }],
    identifier: [{ assigner: { reference: 'Organization/c' } }],
    birthDate: '2000-01-01',
    _birthDate: { extension: [{ url: 'http://example.org/e', valueReference: { reference: 'Basic/d' } }] },
    extension: [{ url: 'http://example.org/e', extension: [{ url: 'f', valueReference: { reference: 'Basic/e' } }] }],
    contained: [observation({ id: 'o', subject: { reference: '#' }, encounter: { reference: 'Encounter/f' } })],
    contact: [{ organization: { reference: '#o' } }],
    name: [{ family: 'x', extension: [{ url: 'http://example.org/e', valueReference: { reference: 'Basic/g' } }] }],
  })
  assert.is(answer.status, 422, answer.text)
  assert.equal(
    issuesOf(answer)
      .map(([code, place]) => `${place} ${code}`)
      .sort(),
    [
      'Patient.birthDate.extension[0].value not-found',
      'Patient.contact[0].organization business-rule',
      'Patient.contained[0].encounter not-found',
      'Patient.extension[0].extension[0].value not-found',
      'Patient.generalPractitioner[0] business-rule',
      'Patient.generalPractitioner[1] not-found',
      'Patient.identifier[0].assigner not-found',
      'Patient.managingOrganization not-found',
      'Patient.name[0].extension[0].value not-found',
    ].sort(),
  )
})

test('a hundred issues are listed, the rest is counted', async () => {
  const answer = await create({
    resourceType: 'List',
    status: 'current',
    mode: 'working',
    entry: Array.from({ length: 130 }, (_, at) => ({ item: { reference: `Patient/none-${at}` } })),
  })
  assert.is(answer.status, 422)
  assert.is(answer.json.issue.length, 101)
  assert.match(answer.json.issue.at(-1).diagnostics, /^30 more/)
})

test('a reference of a type that may not stand there is refused although its target is held', async () => {
  const organization = await clinic.create({ resourceType: 'Organization' })
  refused(
    await create(observation({ encounter: { reference: `Organization/${organization}` } })),
    'business-rule',
    'Observation.encounter',
    /Organization, where only Encounter may stand/,
  )
})

test('an element that may point at anything takes any type that is held', async () => {
  const list = (reference: string): Json => ({
    resourceType: 'List',
    status: 'current',
    mode: 'working',
    entry: [{ item: { reference } }],
  })
  assert.is((await create(list(`Patient/${patient}`))).status, 201)
  refused(await create(list('Foo/1')), 'not-found', 'List.entry[0].item', /Foo\/1/)
})

test('a target that is stated has to be the one that is pointed at', async () => {
  const stated = (type: string) => create(observation({ subject: { reference: `Patient/${patient}`, type } }))
  assert.is((await stated('Patient')).status, 201)
  assert.is((await stated('http://hl7.org/fhir/StructureDefinition/Patient')).status, 201)
  refused(
    await stated('Practitioner'),
    'business-rule',
    'Observation.subject',
    /a Patient, and its type says Practitioner/,
  )
})

test('a logical reference and one of a display alone need no resource, but the type they state may stand there', async () => {
  const logical = (more: Json) => create(observation({ subject: { identifier: { value: '1' }, ...more } }))
  assert.is((await logical({})).status, 201)
  assert.is((await logical({ type: 'Patient' })).status, 201)
  assert.is((await create(observation({ subject: { display: 'somebody' } }))).status, 201)
  refused(await logical({ type: 'Organization' }), 'business-rule', 'Observation.subject', /is an Organization/)
})

test('a contained resource is found by its id, # alone is the resource itself; what is not contained is refused', async () => {
  const contained = (subjectOf: string) =>
    create(observation({ contained: [{ resourceType: 'Patient', id: 'p' }], subject: { reference: subjectOf } }))
  assert.is((await contained('#p')).status, 201)
  refused(await contained('#q'), 'not-found', 'Observation.subject', /not contained/)
  const device = { contained: [{ resourceType: 'Patient', id: 'p' }], device: { reference: '#p' } }
  refused(await create(observation(device)), 'business-rule', 'Observation.device', /is a Patient/)
  const back = { contained: [observation({ id: 'o', subject: { reference: '#' } })], link: [] as Json[] }
  assert.is((await create({ resourceType: 'Patient', contained: back.contained })).status, 201)
})

test('what is deleted is not there, and is again when it was brought back', async () => {
  const id = await clinic.create({ resourceType: 'Patient' })
  assert.is((await clinic.ask('DELETE', `/Patient/${id}`)).status, 204)
  refused(await subject(`Patient/${id}`), 'not-found', 'Observation.subject', /does not hold/)
  await clinic.ask('PUT', `/Patient/${id}`, { resourceType: 'Patient', id })
  assert.is((await subject(`Patient/${id}`)).status, 201)
})

test('a versioned reference needs the version', async () => {
  const id = await clinic.create({ resourceType: 'Patient' })
  await clinic.ask('PUT', `/Patient/${id}`, { resourceType: 'Patient', id, active: true })
  for (const version of ['1', '2']) assert.is((await subject(`Patient/${id}/_history/${version}`)).status, 201, version)
  for (const version of ['0', '3', '01', 'a', '99999999999'])
    refused(await subject(`Patient/${id}/_history/${version}`), 'not-found', 'Observation.subject', /does not hold/)
  // The version that a deletion made holds nothing.
  const other = await clinic.create({ resourceType: 'Patient' })
  await clinic.ask('DELETE', `/Patient/${other}`)
  await clinic.ask('PUT', `/Patient/${other}`, { resourceType: 'Patient', id: other })
  for (const [version, status] of [
    ['1', 201],
    ['2', 422],
    ['3', 201],
  ])
    assert.is((await subject(`Patient/${other}/_history/${version}`)).status, status)
})

test('a URL of this server is one of its resources, another is not and is not asked for (row 29)', async () => {
  const ask = (reference: string) => clinic.ask('POST', '/Observation', observation({ subject: { reference } }))
  assert.is((await ask(`http://clinic.example/Patient/${patient}`)).status, 201)
  assert.is((await ask('http://clinic.example/Patient/nobody')).status, 422)
  for (const reference of [
    `http://other.example/Patient/${patient}`,
    `https://clinic.example/Patient/${patient}`,
    'http://169.254.169.254/Patient/1',
    `../Patient/${patient}`,
    `Patient/${patient}/../${patient}`,
    `/Patient/${patient}`,
    `Patient/${patient}#a`,
    `Patient?_id=${patient}`,
    'urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0',
    patient,
  ])
    refused(await ask(reference), 'not-found', 'Observation.subject', /no address of a resource on this server/)
})

test('public_url is the address of this server, whatever host was asked', async () => {
  const own = await clinicWith({ server: { public_url: 'https://fhir.example/r4' } }, [references])
  const id = await own.create({ resourceType: 'Patient' })
  const ask = async (reference: string): Promise<number> =>
    (await own.ask('POST', '/Observation', observation({ subject: { reference } }))).status
  assert.is(await ask(`https://fhir.example/r4/Patient/${id}`), 201)
  assert.is(await ask(`https://fhir.example/Patient/${id}`), 422)
  await own.stop()
})

test('a canonical is no reference', async () => {
  const answer = await create({
    resourceType: 'Basic',
    code: { text: 'x' },
    extension: [{ url: 'http://example.org/e', valueCanonical: 'Questionnaire/none' }],
  })
  assert.is(answer.status, 201, answer.text)
})

test('an update is held to the same', async () => {
  const { id } = (await subject(`Patient/${patient}`)).json
  const changed = observation({ id, subject: { reference: 'Patient/nobody' } })
  refused(await clinic.ask('PUT', `/Observation/${id}`, changed), 'not-found', 'Observation.subject', /nobody/)
  assert.is((await clinic.ask('GET', `/Observation/${id}`)).json.meta.versionId, '1')
})

test('entries of a transaction refer to each other in any order, in circles and to themselves', async () => {
  const answer = await clinic.bundle('transaction', [
    put(
      observation({
        id: 'o-own',
        subject: { reference: 'Patient/p-own' },
        hasMember: [{ reference: 'Observation/o-own' }],
      }),
    ),
    put({ resourceType: 'Patient', id: 'p-own', link: [{ other: { reference: 'Patient/p-own' }, type: 'seealso' }] }),
    post(observation({ subject: { reference: 'urn:uuid:1a0d7a3c-5b3e-4c73-8a43-b3ee0a5c1ff0' } })),
    post({ resourceType: 'Patient' }, 'urn:uuid:1a0d7a3c-5b3e-4c73-8a43-b3ee0a5c1ff0'),
  ])
  assert.is(answer.status, 200, answer.text)
})

test('a broken reference of an entry undoes the transaction and is told with its place in the Bundle', async () => {
  const before = (await clinic.ids('Patient')).length
  const answer = await clinic.bundle('transaction', [
    post({ resourceType: 'Patient' }),
    post(observation({ subject: { reference: 'Patient/nobody' } })),
    post(observation({ subject: { reference: 'urn:uuid:1a0d7a3c-5b3e-4c73-8a43-b3ee0a5c1ff9' } })),
  ])
  assert.is(answer.status, 422, answer.text)
  assert.equal(
    issuesOf(answer).map(([, place]) => place),
    ['Bundle.entry[1].resource.subject', 'Bundle.entry[2].resource.subject'],
  )
  assert.is((await clinic.ids('Patient')).length, before)
})

test('an entry of a transaction does not refer to what another entry deletes', async () => {
  const id = await clinic.create({ resourceType: 'Patient' })
  const answer = await clinic.bundle('transaction', [
    del(`Patient/${id}`),
    post(observation({ subject: { reference: `Patient/${id}` } })),
  ])
  assert.is(answer.status, 422, answer.text)
  assert.is((await clinic.ask('GET', `/Patient/${id}`)).status, 200)
})

test('a batch refuses the entry alone', async () => {
  const answer = await clinic.bundle('batch', [
    post({ resourceType: 'Patient' }),
    post(observation({ subject: { reference: 'Patient/nobody' } })),
  ])
  assert.equal(
    answer.json.entry.map(({ response }: Json) => response.status.slice(0, 3)),
    ['201', '422'],
  )
})

test('the entries of a stored Bundle may refer to each other; what is not in it has to be held', async () => {
  const bundle = (reference: string, fullUrl = 'http://other.example/fhir/Observation/1'): Json => ({
    resourceType: 'Bundle',
    type: 'collection',
    entry: [
      { fullUrl, resource: observation({ id: '1', subject: { reference } }) },
      { fullUrl: 'http://other.example/fhir/Patient/1', resource: { resourceType: 'Patient', id: '1' } },
      { fullUrl: 'urn:uuid:1a0d7a3c-5b3e-4c73-8a43-b3ee0a5c1ff0', resource: { resourceType: 'Patient' } },
      { fullUrl: 'http://other.example/fhir/Organization/1', resource: { resourceType: 'Organization', id: '1' } },
    ],
  })
  for (const reference of [
    'Patient/1',
    'http://other.example/fhir/Patient/1',
    'urn:uuid:1a0d7a3c-5b3e-4c73-8a43-b3ee0a5c1ff0',
    `Patient/${patient}`,
  ])
    assert.is((await create(bundle(reference))).status, 201, reference)
  for (const [reference, code] of [
    ['Patient/2', 'not-found'],
    ['urn:uuid:1a0d7a3c-5b3e-4c73-8a43-b3ee0a5c1ff1', 'not-found'],
    ['http://other.example/fhir/Organization/1', 'business-rule'],
    ['#x', 'not-found'],
  ] as const)
    refused(await create(bundle(reference)), code, 'Bundle.entry[0].resource.subject', /./)
})

test('$validate with a mode says of references what a write would', async () => {
  const validating = await clinicWith({}, [validation, references])
  const { status, json } = await validating.ask('POST', '/Observation/$validate', {
    resourceType: 'Parameters',
    parameter: [
      { name: 'resource', resource: observation({ subject: { reference: 'Patient/nobody' } }) },
      { name: 'mode', valueCode: 'create' },
    ],
  })
  await validating.stop()
  assert.is(status, 200)
  assert.ok(json.issue.some(({ expression }: Json) => expression?.[0] === 'Observation.subject'))
})

test('/metadata says that references are enforced', async () => {
  const { rest } = (await clinic.ask('GET', '/metadata')).json
  assert.equal(rest[0].resource[0].referencePolicy, ['literal', 'logical', 'enforced', 'local'])
})

test('strict is the policy when none is set, and another than the two is refused', async () => {
  assert.is((await subject('Patient/nobody')).status, 422)
  try {
    await clinicWith({ conformance: { reference_policy: 'loose' } }, [references])
    assert.unreachable()
  } catch (error) {
    assert.match(String(error), /reference_policy.*strict.*fhir/s)
  }
})

test.run()
