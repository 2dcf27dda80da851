// database: memory
/** $validate. https://hl7.org/fhir/R4/resource-operation-validate.html */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { defineError, definePlugin } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { Fhir } from '../../../plugins/fhir/service.ts'
import validation from '../../../plugins/validation/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

type Json = Record<string, any>

const Kept = defineError('test/kept', 409, 'conflict', 'This one is still needed.')
const told: string[] = []
const others = definePlugin({
  name: 'others',
  needs: { fhir: Fhir },
  setup({ needs: { fhir: service }, hooks }) {
    service.ownsType('AuditEvent', 'is written by the tests')
    service.check({
      name: 'kept',
      checkInTransaction: (_request, _transaction, changes) =>
        changes
          .filter(({ version }) => version.id === 'kept' && version.deleted)
          .map(({ interaction }) => ({ interaction, error: Kept() })),
    })
    hooks.onWrite.tap('keep', ({ next }) => void told.push(`${next.type}/${next.id}`))
    hooks.onAudit.tap('keep', ({ interaction }) => void told.push(interaction.kind))
  },
})

let server: TestServer
const ask = async (method: 'GET' | 'POST' | 'PUT', url: string, body?: Json | string) =>
  server.inject({
    method,
    url,
    headers: { 'content-type': 'application/fhir+json' },
    ...(body === undefined ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
const PATIENT = {
  resourceType: 'Patient',
  text: { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">x</div>' },
}
let ids: readonly string[] = []
test.before(async () => {
  server = await serverWith({ plugins: [database, stubDefinitions('all'), validation, others, ...fhirPlugins] })
  ids = await Promise.all(
    ['A', 'B'].map(async (family) => (await ask('POST', '/Patient', { ...PATIENT, name: [{ family }] })).json().id),
  )
})
test.after(() => server.stop())

const issues = async (method: 'GET' | 'POST', url: string, body?: Json | string): Promise<readonly Json[]> => {
  const answer = await ask(method, url, body)
  assert.is(answer.statusCode, 200, answer.body)
  assert.is(answer.json().resourceType, 'OperationOutcome')
  return answer.json().issue
}
const worst = (list: readonly Json[]): readonly string[] =>
  list.filter(({ severity }) => severity === 'error').map(({ expression }) => expression?.[0] as string)
const withParameters = (resource: Json | undefined, more: Json = {}): Json => ({
  resourceType: 'Parameters',
  parameter: [
    ...(resource === undefined ? [] : [{ name: 'resource', resource }]),
    ...Object.entries(more).map(([name, value]) => ({ name, [name === 'profile' ? 'valueUri' : 'valueCode']: value })),
  ],
})

test('every issue is told with its place, and a resource that is fine says so', async () => {
  const bad = { ...PATIENT, birthDate: '2023-02-29', name: [{ family: 'A' }, { family: 1 }], bogus: true }
  for (const body of [bad, withParameters(bad)]) {
    const places = worst(await issues('POST', '/Patient/$validate', body))
    for (const place of ['Patient.birthDate', 'Patient.name[1].family', 'Patient.bogus'])
      assert.ok(places.includes(place), `${place} in ${places}`)
  }
  const [only, ...more] = await issues('POST', '/Patient/$validate', PATIENT)
  assert.equal([only?.severity, more.length], ['information', 0])
  const invariant = { ...PATIENT, contact: [{ gender: 'male' }] }
  assert.equal(worst(await issues('POST', '/Patient/$validate', invariant)), ['Patient.contact[0]'])
  const spelled = await issues('POST', '/Patient/$validate', '{"resourceType":"Patient","multipleBirthInteger":1.0}')
  assert.equal(worst(spelled), ['Patient.multipleBirth'])
  const warned = await issues('POST', '/Patient/$validate', { resourceType: 'Patient' })
  assert.ok(warned.some(({ severity, diagnostics }) => severity === 'warning' && /dom-6/.test(diagnostics)))
})

test('a profile is checked besides, and one that is not installed is an error', async () => {
  const profile = 'http://hl7.org/fhir/StructureDefinition/vitalsigns'
  const observation = {
    resourceType: 'Observation',
    text: PATIENT.text,
    status: 'final',
    code: { coding: [{ system: 'http://loinc.org', code: '29463-7' }] },
  }
  assert.equal(worst(await issues('POST', '/Observation/$validate', observation)), [])
  for (const found of [
    await issues('POST', '/Observation/$validate', withParameters(observation, { profile })),
    await issues('POST', `/Observation/$validate?profile=${profile}`, observation),
  ])
    assert.ok(worst(found).length > 0)
  const unknown = await ask('POST', '/Patient/$validate?profile=http://example.org/none', PATIENT)
  assert.is(unknown.statusCode, 400)
  assert.match(unknown.json().issue[0].diagnostics, /http:\/\/example\.org\/none/)
})

test('the stored resource is validated when none is sent', async () => {
  const [id] = ids
  assert.equal(worst(await issues('GET', `/Patient/${id}/$validate`)), [])
  const profile = 'http://hl7.org/fhir/StructureDefinition/Patient'
  assert.equal(worst(await issues('GET', `/Patient/${id}/$validate?profile=${profile}&mode=profile`)), [])
  assert.is((await ask('GET', '/Patient/missing/$validate')).statusCode, 404)
  assert.is((await ask('GET', '/Patient/$validate')).statusCode, 400)
})

test('mode create tells what a create would be refused for', async () => {
  const create = (type: string, resource: Json) =>
    issues('POST', `/${type}/$validate`, withParameters(resource, { mode: 'create' }))
  assert.equal(
    (await create('Patient', PATIENT)).map(({ severity }) => severity),
    ['information'],
  )
  const event = {
    resourceType: 'AuditEvent',
    text: PATIENT.text,
    type: { code: 'rest' },
    recorded: '2024-01-01T00:00:00Z',
    agent: [{ requestor: true }],
    source: { observer: { display: 'x' } },
  }
  const [owned] = (await create('AuditEvent', event)).filter(({ severity }) => severity === 'error')
  assert.match(owned?.diagnostics, /AuditEvent is written by the tests/)
})

test('mode update tells what an update would be refused for', async () => {
  const [id] = ids
  const update = (at: string, resource: Json) =>
    issues('POST', `/Patient/${at}/$validate`, withParameters(resource, { mode: 'update' }))
  const diagnostics = async (at: string, resource: Json) => (await update(at, resource))[0]?.diagnostics
  assert.match(await diagnostics(id as string, { ...PATIENT, id }), /No issues/)
  assert.match(await diagnostics(id as string, { ...PATIENT, id: 'other' }), /"other"/)
  assert.match(await diagnostics(id as string, PATIENT), /id/)
  assert.match(await diagnostics('new', { ...PATIENT, id: 'new' }), /update_as_create/)
})

test('mode delete tells what a deletion would be refused for', async () => {
  const [id] = ids
  const remove = async (at: string) => (await issues('GET', `/Patient/${at}/$validate?mode=delete`))[0]?.diagnostics
  assert.match(await remove(id as string), /No issues/)
  assert.match(await remove('missing'), /missing/)
  const kept = await serverWith({
    plugins: [database, stubDefinitions(['Patient']), validation, others, ...fhirPlugins],
    settings: { conformance: { update_as_create: true, validation: 'structure' } },
  })
  await kept.inject({
    method: 'PUT',
    url: '/Patient/kept',
    headers: { 'content-type': 'application/fhir+json' },
    payload: '{"resourceType":"Patient","id":"kept"}',
  })
  assert.match((await kept.inject('/Patient/kept/$validate?mode=delete')).json().issue[0].diagnostics, /still needed/)
  await kept.stop()
})

test('nothing of it is stored or told to anybody but the trail', async () => {
  const [id] = ids
  told.length = 0
  await issues('POST', '/Patient/$validate', withParameters(PATIENT, { mode: 'create' }))
  await issues('POST', `/Patient/${id}/$validate`, withParameters({ ...PATIENT, id }, { mode: 'update' }))
  await issues('GET', `/Patient/${id}/$validate?mode=delete`)
  assert.equal(told, ['operation', 'operation', 'operation'])
  const all = (await ask('GET', '/Patient/_history')).json()
  assert.is(all.entry.length, 2)
})

test('a display that was validated twice and then stored is found by its text', async () => {
  const coding = { system: 'http://x', code: 'c', display: 'Unmistakable' }
  const patient = {
    ...PATIENT,
    maritalStatus: { coding: [coding] },
    communication: [{ language: { coding: [coding] } }],
  }
  for (let time = 0; time < 3; time += 1)
    await issues('POST', '/Patient/$validate', withParameters(patient, { mode: 'create' }))
  await ask('POST', '/Patient', patient)
  assert.is((await ask('GET', '/Patient?language:text=unmistakable')).json().entry.length, 1)
})

test('what cannot be asked is refused', async () => {
  const refused = async (url: string, body?: Json): Promise<void> => {
    const answer = await ask('POST', url, body)
    assert.is(answer.statusCode, 400, answer.body)
  }
  await refused('/Patient/$validate')
  await refused('/Patient/$validate', withParameters(PATIENT, { mode: 'bogus' }))
  await refused('/Patient/$validate', withParameters(PATIENT, { mode: 'update' }))
  await refused('/Patient/$validate', withParameters(undefined, { mode: 'delete' }))
  await refused('/Patient/$validate', { resourceType: 'Observation' })
  await refused('/Patient/$validate', { resourceType: 'Foo' })
  await refused('/Patient/$validate', withParameters({ ...PATIENT, resourceType: 'Basic' }))
})

test('it goes into a batch and a transaction', async () => {
  for (const type of ['batch', 'transaction']) {
    const entry = [
      { request: { method: 'POST', url: 'Patient/$validate' }, resource: { ...PATIENT, birthDate: 'x' } },
      { request: { method: 'POST', url: 'Patient/$validate' }, resource: withParameters(PATIENT, { mode: 'create' }) },
    ]
    const answer = await ask('POST', '/', { resourceType: 'Bundle', type, entry })
    assert.is(answer.statusCode, 200, answer.body)
    assert.equal(worst(answer.json().entry[0].resource.issue), ['Patient.birthDate'])
    assert.equal(worst(answer.json().entry[1].resource.issue), [])
  }
})

test('a patch is validated like any other write', async () => {
  const [id] = ids
  const patch = (body: unknown) =>
    server.inject({
      method: 'PATCH',
      url: `/Patient/${id}`,
      headers: { 'content-type': 'application/json-patch+json' },
      payload: JSON.stringify(body),
    })
  const bad = await patch([{ op: 'add', path: '/birthDate', value: '2023-02-29' }])
  assert.is(bad.statusCode, 400, bad.body)
  assert.equal(bad.json().issue[0].expression, ['Patient.birthDate'])
  assert.is((await patch([{ op: 'add', path: '/contact', value: [{ gender: 'male' }] }])).statusCode, 422)
  assert.is((await patch([{ op: 'add', path: '/birthDate', value: '2023-02-28' }])).statusCode, 200)
})

test('warnings about what was stored come with the outcome that is asked for, however it was stored', async () => {
  const [id] = ids
  const headers = { 'content-type': 'application/fhir+json', prefer: 'return=OperationOutcome' }
  const warned = { ...PATIENT, meta: { profile: ['http://example.org/none'] } }
  const outcomes: Json[] = []
  const send = async (
    method: 'POST' | 'PUT' | 'PATCH',
    url: string,
    payload: object,
    type = headers['content-type'],
  ) => {
    const answer = await server.inject({ method, url, headers: { ...headers, 'content-type': type }, payload })
    assert.ok(answer.statusCode < 300, answer.body)
    return answer.json()
  }
  outcomes.push(await send('POST', '/Patient', warned))
  outcomes.push(await send('PUT', `/Patient/${id}`, { ...warned, id }))
  outcomes.push(await send('PATCH', `/Patient/${id}`, { active: true }, 'application/merge-patch+json'))
  for (const type of ['batch', 'transaction']) {
    const entry = [{ request: { method: 'POST', url: 'Patient' }, resource: warned }]
    outcomes.push((await send('POST', '/', { resourceType: 'Bundle', type, entry })).entry[0].response.outcome)
  }
  for (const { issue } of outcomes) {
    assert.is(issue[0].severity, 'information')
    assert.ok(
      issue.some(({ severity, diagnostics }: Json) => severity === 'warning' && /example\.org\/none/.test(diagnostics)),
      JSON.stringify(issue),
    )
  }
})

test.run()
