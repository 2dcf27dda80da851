/** Whose data an event is about: the patients in whose compartment a resource is, was, or is put. */
// npm test: postgres, which is asked statements here that no other file asks
// database: sqlite and postgres, because in memory the same statements run as on a file
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import audit from '../../../plugins/audit/index.ts'
import database from '../../../plugins/database/index.ts'
import probes from '../../../plugins/probes/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import type { TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'
import { audited, eventsOf, patientOf, send } from './audited.ts'

const TYPES = [
  'Patient',
  'Observation',
  'Organization',
  'Practitioner',
  'Encounter',
  'Device',
  'Group',
  'Schedule',
  'Appointment',
  'Communication',
  'List',
  'Provenance',
  'QuestionnaireResponse',
  'Procedure',
  'Binary',
  'Bundle',
  'Basic',
  'Parameters',
  'AuditEvent',
]
const definitions = stubDefinitions(TYPES, /^(SearchParameter-|CompartmentDefinition-(patient|encounter))/i)
/** Two for all tests: one takes bodies of some hundred bytes for large ones, to which a thread attends. */
let server: TestServer
let large: TestServer
const started = (large_body_bytes: number): Promise<TestServer> =>
  audited({
    plugins: [database, definitions, ...fhirPlugins, probes, audit],
    settings: { conformance: { update_as_create: true }, fhir: { large_body_bytes } },
  })
test.before(async () => {
  server = await started(1_000_000)
  large = await started(200)
})
test.after(async () => {
  await server.stop()
  await large.stop()
})

const P1 = { reference: 'Patient/p1' }
const P2 = { reference: 'Patient/p2' }
const observation = (id: string, subject: object) => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  code: { text: 'x' },
  subject,
})

const put = async (server: TestServer, resource: { readonly resourceType: string; readonly id: string }) => {
  const answer = await send(server, 'PUT', `/${resource.resourceType}/${resource.id}`, resource)
  assert.ok(answer.statusCode < 300, `${resource.resourceType}: ${answer.body}`)
}

/** The patients that the events of `work` name, in order. */
const named = async (server: TestServer, work: () => Promise<unknown>): Promise<readonly string[]> => {
  const before = (await eventsOf(server)).length
  await work()
  return (await eventsOf(server)).slice(before).map(patientOf).sort()
}

const BOTH = ['Patient/p1', 'Patient/p2']
const MEMBERS: readonly (readonly [string, { readonly resourceType: string; readonly id: string }])[] = [
  ['member of a Group', { resourceType: 'Group', id: 'x', type: 'person', actual: true, member: [{ entity: P1 }] }],
  ['actor of a Schedule', { resourceType: 'Schedule', id: 'x', actor: [P1] }],
  ['sender of a Communication', { resourceType: 'Communication', id: 'x', status: 'completed', sender: P1 }],
  ['recipient of a Communication', { resourceType: 'Communication', id: 'x', status: 'completed', recipient: [P1] }],
  ['source of a List', { resourceType: 'List', id: 'x', status: 'current', mode: 'working', source: P1 }],
  [
    'target of a Provenance',
    {
      resourceType: 'Provenance',
      id: 'x',
      target: [P1],
      recorded: '2020-01-01T00:00:00Z',
      agent: [{ who: { reference: 'Organization/o' } }],
    },
  ],
  [
    'author of a QuestionnaireResponse',
    { resourceType: 'QuestionnaireResponse', id: 'x', status: 'completed', author: P1 },
  ],
  [
    'performer of an Observation',
    { resourceType: 'Observation', id: 'x', status: 'final', code: { text: 'x' }, performer: [P1] },
  ],
  [
    'patient that a Patient is linked to',
    { resourceType: 'Patient', id: 'p1', link: [{ other: P2, type: 'seealso' }] },
  ],
] as never

for (const [role, resource] of MEMBERS)
  test(`what is in a patient's compartment is told as theirs: the ${role}`, async () => {
    for (const id of ['p1', 'p2']) await put(server, { resourceType: 'Patient', id })
    const { resourceType: type, id } = resource
    const expected = type === 'Patient' ? BOTH : ['Patient/p1']
    assert.equal(await named(server, () => put(server, resource)), expected, 'the change')
    // The compartment says the same.
    const found = (await server.inject(`/${expected.at(-1)}/${type}`)).json() as {
      entry?: readonly { resource: { id: string } }[]
    }
    assert.is(
      found.entry?.some((one) => one.resource.id === id),
      true,
    )
    assert.equal(await named(server, async () => server.inject(`/${type}/${id}`)), expected, 'the read')
    const search = await named(server, async () => server.inject(`/${type}?_id=${id}`))
    assert.equal(search, expected, 'the search')
  })

test('a resource that is several patients’ names each of them, once', async () => {
  const communication = { resourceType: 'Communication', id: 'c', status: 'completed', subject: P1, sender: P1 }
  await put(server, { ...communication, recipient: [P2, P1, { reference: 'Practitioner/x' }] } as never)
  assert.equal(await named(server, async () => server.inject('/Communication/c')), BOTH)
  const performed = { resourceType: 'Procedure', id: 'p', status: 'completed', subject: P1, performer: [{ actor: P2 }] }
  await put(server, performed)
  assert.equal(await named(server, async () => server.inject('/Procedure/p')), BOTH)
})

test('a Binary names the patient that its securityContext refers to, however it is read', async () => {
  const binary = { resourceType: 'Binary', id: 'b', contentType: 'text/plain', data: 'eA==', securityContext: P1 }
  assert.equal(await named(server, () => put(server, binary)), ['Patient/p1'])
  const read = (accept: string) => named(server, async () => server.inject({ url: '/Binary/b', headers: { accept } }))
  assert.equal(await read('application/fhir+json'), ['Patient/p1'])
  assert.equal(await read('text/plain'), ['Patient/p1'])
  assert.equal(await named(server, async () => server.inject('/Binary?_id=b')), ['Patient/p1'])
  await put(server, { ...binary, id: 'c', securityContext: { reference: 'Organization/o' } } as never)
  assert.equal(await named(server, async () => server.inject('/Binary/c')), [''])
})

test('a stored Bundle names the patients it holds, and those whose data it holds', async () => {
  const held = { resourceType: 'Bundle', id: 'b', type: 'collection' }
  const entry = [
    { fullUrl: 'urn:uuid:0b2d3c9e-8a38-4c55-9a77-0b1f57f2a111', resource: { resourceType: 'Patient', id: 'p1' } },
    { resource: observation('o', P2) },
    { resource: { resourceType: 'Bundle', type: 'collection', entry: [{ resource: observation('o', P1) }] } },
    { resource: { resourceType: 'Patient' } },
    {},
  ]
  assert.equal(await named(server, () => put(server, { ...held, entry: entry.slice(0, 1) } as never)), ['Patient/p1'])
  await put(server, { ...held, entry: entry.slice(0, 4) } as never)
  assert.equal(await named(server, async () => server.inject('/Bundle/b')), BOTH)
})

test('the event of $everything of a patient names that patient, whatever it showed', async () => {
  await put(server, {
    resourceType: 'Patient',
    id: 'p3',
    generalPractitioner: [{ reference: 'Practitioner/pr' }],
  } as never)
  await put(server, { resourceType: 'Practitioner', id: 'pr' })
  await put(server, observation('of-p3', { reference: 'Patient/p3' }))
  for (const query of [
    '',
    '?_type=Practitioner',
    '?_type=Device',
    '?_type=Observation',
    '?_since=2999-01-01T00:00:00Z',
  ])
    assert.equal(
      await named(server, async () =>
        assert.is((await server.inject(`/Patient/p3/$everything${query}`)).statusCode, 200),
      ),
      ['Patient/p3'],
      query,
    )
  const found = await eventsOf(server, 'patient=p3&subtype=operation')
  assert.is(found.length, 5)
})

test('that of an encounter names the patients of the encounter and of what was shown', async () => {
  const encounter = { resourceType: 'Encounter', id: 'e', status: 'finished', class: { code: 'AMB' }, subject: P1 }
  const about = { reference: 'Encounter/e' }
  await put(server, { ...encounter, serviceProvider: { reference: 'Organization/org' } } as never)
  await put(server, { resourceType: 'Organization', id: 'org', name: 'x' } as never)
  await put(server, { ...observation('o', P2), encounter: about } as never)
  const everything = (query: string) => named(server, async () => server.inject(`/Encounter/e/$everything${query}`))
  assert.equal(await everything('?_type=Organization'), ['Patient/p1'])
  assert.equal(await everything('?_type=Observation'), BOTH)
  assert.equal(await everything(''), BOTH)
})

const json = { 'content-type': 'application/fhir+json' }
const patch = [{ op: 'replace', path: '/subject/reference', value: 'Patient/p2' }]
const patchHeaders = { 'content-type': 'application/json-patch+json' }
const MOVES: readonly (readonly [string, object])[] = [
  ['update', { method: 'PUT', url: '/Observation/o', headers: json, payload: JSON.stringify(observation('o', P2)) }],
  [
    'conditional update',
    { method: 'PUT', url: '/Observation?_id=o', headers: json, payload: JSON.stringify(observation('o', P2)) },
  ],
  ['patch', { method: 'PATCH', url: '/Observation/o', headers: patchHeaders, payload: JSON.stringify(patch) }],
  [
    'conditional patch',
    { method: 'PATCH', url: '/Observation?_id=o', headers: patchHeaders, payload: JSON.stringify(patch) },
  ],
  [
    'update whose next version is of nobody',
    { method: 'PUT', url: '/Observation/o', headers: json, payload: JSON.stringify(observation('o', {})) },
  ],
  ['deletion', { method: 'DELETE', url: '/Observation/o' }],
]
for (const [name, request] of MOVES)
  for (const size of ['', ' of a large resource'])
    test(`${name}${size}: the event names the patient whose it was, and the one whose it is`, async () => {
      const asked = size === '' ? server : large
      const note = size === '' ? [] : [{ text: 'n'.repeat(400) }]
      await put(asked, { ...observation('o', P1), note } as never)
      const expected = name === 'deletion' || name.includes('nobody') ? ['Patient/p1'] : BOTH
      const told = await named(asked, async () => {
        const answer = await asked.inject(request as never)
        assert.ok(answer.statusCode < 300, answer.body)
      })
      assert.equal(told, expected)
    })

test('an entry of a transaction that moves a resource names both patients', async () => {
  await put(server, observation('moved', P1))
  const entry = [{ resource: observation('moved', P2), request: { method: 'PUT', url: 'Observation/moved' } }]
  const told = await named(server, () =>
    send(server, 'POST', '/', { resourceType: 'Bundle', type: 'transaction', entry }),
  )
  assert.equal(told, ['', ...BOTH])
  const found = await eventsOf(server, 'patient=p1&entity=Observation/moved')
  assert.equal(
    found.map(({ subtype }) => subtype[0]?.code),
    ['update', 'update'],
  )
})

test.run()
