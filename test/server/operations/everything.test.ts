/** $everything of a patient and of an encounter. https://hl7.org/fhir/R4/patient-operation-everything.html */
// npm test: sqlite and postgres, whose statements differ
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin, type Restriction } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { inCompartment, matching, onlyTypes } from '../../support/restrictions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

type Json = Record<string, any>

const told: (readonly string[])[] = []
let restrictions: readonly Restriction[] = []
const gate = definePlugin({
  name: 'gate',
  setup({ hooks }) {
    hooks.authorize.tap('restrict', (_request, _interaction, ruling) => {
      for (const one of restrictions) ruling.restrict(one)
    })
    hooks.onAudit.tap('keep', ({ interaction, details }) => {
      if (interaction.kind === 'operation') told.push([...(details?.patients?.() ?? [])].sort())
    })
  },
})

let server: TestServer
const moments = new Map<string, string>()
const put = async (type: string, id: string, rest: Json = {}): Promise<void> => {
  const answer = await server.inject({
    method: 'PUT',
    url: `/${type}/${id}`,
    headers: { 'content-type': 'application/fhir+json' },
    payload: JSON.stringify({ resourceType: type, id, ...rest }),
  })
  assert.ok(answer.statusCode < 300, answer.body)
  moments.set(`${type}/${id}`, answer.json().meta.lastUpdated)
}
const to = (reference: string): Json => ({ reference })

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), gate, ...fhirPlugins],
    settings: { conformance: { update_as_create: true } },
  })
  await put('Organization', 'ward')
  await put('Practitioner', 'dr')
  await put('Practitioner', 'other')
  for (const patient of ['p', 'q']) {
    await put('Patient', patient, { managingOrganization: to('Organization/ward') })
    await put('Encounter', `e-${patient}`, {
      subject: to(`Patient/${patient}`),
      period: { start: '2020-01-01', end: '2020-01-02' },
    })
    for (const year of [2019, 2020, 2021])
      await put('Observation', `${patient}-${year}`, {
        subject: to(`Patient/${patient}`),
        encounter: to(`Encounter/e-${patient}`),
        performer: [to('Practitioner/dr')],
        effectiveDateTime: `${year}-06-01`,
      })
  }
  await put('Condition', 'undated', { subject: to('Patient/p') })
  await put('List', 'about-both', { subject: to('Patient/p'), entry: [{ item: to('Patient/q') }] })
})
test.after(() => server.stop())
test.before.each(() => {
  restrictions = []
})

const get = async (url: string): Promise<Json> => {
  const answer = await server.inject(url.replace(/^https?:\/\/[^/]+/, ''))
  assert.is(answer.statusCode, 200, answer.body)
  return answer.json()
}
const names = ({ entry = [] }: Json, mode?: string): readonly string[] =>
  entry
    .filter(({ search }: Json) => mode === undefined || search.mode === mode)
    .map(({ resource }: Json) => `${resource.resourceType}/${resource.id}`)
    .sort()

const P = [
  'Condition/undated',
  'Encounter/e-p',
  'List/about-both',
  'Observation/p-2019',
  'Observation/p-2020',
  'Observation/p-2021',
  'Patient/p',
]

test('a patient comes first, then the compartment, then what those refer to, but no other patient', async () => {
  const bundle = await get('/Patient/p/$everything')
  assert.is(bundle.type, 'searchset')
  assert.is(bundle.entry[0].resource.id, 'p')
  assert.equal(names(bundle, 'match'), P)
  assert.equal(names(bundle, 'include'), ['Organization/ward', 'Practitioner/dr'])
  assert.is(bundle.link.length, 1)
})

test('pages hold everything once', async () => {
  for (const count of [1, 2, 3]) {
    const seen: string[] = []
    let url: string | undefined = `/Patient/p/$everything?_count=${count}`
    let pages = 0
    while (url !== undefined) {
      const bundle: Json = await get(url)
      assert.ok(names(bundle, 'match').length <= count)
      seen.push(...names(bundle, 'match'))
      url = bundle.link.find(({ relation }: Json) => relation === 'next')?.url
      pages += 1
    }
    assert.equal(seen.sort(), P)
    assert.is(pages, Math.ceil(P.length / count))
  }
  const page = (await get('/Patient/p/$everything?_count=2')).link[1].url
  const changed = await server.inject(page.replace(/^https?:\/\/[^/]+/, '').replace('_count=2', '_count=3'))
  assert.is(changed.statusCode, 400)
})

test('_type, _since, start and end narrow it', async () => {
  assert.equal(names(await get('/Patient/p/$everything?_type=Observation,Practitioner')), [
    'Observation/p-2019',
    'Observation/p-2020',
    'Observation/p-2021',
    'Practitioner/dr',
  ])
  const since = moments.get('Condition/undated') as string
  assert.equal(names(await get(`/Patient/p/$everything?_since=${since}`)), ['Condition/undated', 'List/about-both'])
  assert.equal(names(await get('/Patient/p/$everything?start=2020-01-01&end=2020-12-31'), 'match'), [
    'Condition/undated',
    'Encounter/e-p',
    'List/about-both',
    'Observation/p-2020',
    'Patient/p',
  ])
  for (const query of ['_count=0', '_count=x', '_since=2020', '_type=Foo', 'start=x', '_bogus=1'])
    assert.match(String((await server.inject(`/Patient/p/$everything?${query}`)).statusCode), /^4/, query)
})

test('an encounter brings its compartment and its patient', async () => {
  const bundle = await get('/Encounter/e-p/$everything')
  assert.equal(names(bundle, 'match'), [
    'Encounter/e-p',
    'Observation/p-2019',
    'Observation/p-2020',
    'Observation/p-2021',
  ])
  assert.equal(names(bundle, 'include'), ['Patient/p', 'Practitioner/dr'])
  assert.is((await server.inject('/Encounter/e-p/$everything?start=2020')).statusCode, 400)
})

test('of all patients it is all compartments', async () => {
  const bundle = await get('/Patient/$everything')
  assert.equal(
    names(bundle, 'match').filter((name) => name.startsWith('Patient')),
    ['Patient/p', 'Patient/q'],
  )
  assert.is(names(bundle, 'match').length, P.length + 5)
  assert.equal(names(bundle, 'include'), ['Organization/ward', 'Practitioner/dr'])
})

test('what is not there, or not to be seen, is not told', async () => {
  assert.is((await server.inject('/Patient/missing/$everything')).statusCode, 404)
  restrictions = [inCompartment('Patient', 'q')]
  assert.is((await server.inject('/Patient/p/$everything')).statusCode, 404)
  assert.equal(names(await get('/Patient/q/$everything')), [
    'Encounter/e-q',
    'Observation/q-2019',
    'Observation/q-2020',
    'Observation/q-2021',
    'Patient/q',
  ])
  assert.ok(names(await get('/Patient/$everything')).every((name) => !/\bp\b|e-p|p-/.test(name)))
  restrictions = [onlyTypes('Patient', 'Encounter')]
  assert.equal(names(await get('/Patient/p/$everything')), ['Encounter/e-p', 'Patient/p'])
  restrictions = [matching('Observation', 'date=2020')]
  assert.equal(
    names(await get('/Patient/p/$everything')).filter((name) => name.startsWith('Obs')),
    ['Observation/p-2020'],
  )
})

test('the trail is told whose data was shown', async () => {
  told.length = 0
  await get('/Patient/p/$everything?_count=2')
  await get('/Encounter/e-q/$everything')
  await get('/Patient/$everything')
  assert.equal(told, [['Patient/p'], ['Patient/q'], ['Patient/p', 'Patient/q']])
})

test('it goes into a Bundle', async () => {
  for (const type of ['batch', 'transaction']) {
    const payload = {
      resourceType: 'Bundle',
      type,
      entry: [{ request: { method: 'GET', url: 'Patient/p/$everything' } }],
    }
    const answer = await server.inject({
      method: 'POST',
      url: '/',
      headers: { 'content-type': 'application/fhir+json' },
      payload,
    })
    assert.equal(names(answer.json().entry[0].resource, 'match'), P, answer.body)
  }
})

test('patients whose link names this one lie in its compartment', async () => {
  const link = [{ other: to('Patient/p'), type: 'seealso' }]
  await put('Organization', 'clinic')
  await put('Patient', 'r', { link, managingOrganization: to('Organization/clinic') })
  await put('Patient', 's', { link })
  // It names itself: still only once.
  await put('Patient', 'p', { link, managingOrganization: to('Organization/ward') })
  const all = [...P, 'Patient/r', 'Patient/s'].sort()
  const bundle = await get('/Patient/p/$everything')
  assert.equal(names(bundle, 'match'), all)
  assert.equal(names(bundle, 'match'), names(await get('/Patient/p/*?_count=100'), 'match'))
  assert.ok(names(bundle, 'include').includes('Organization/clinic'), 'what they refer to comes along')
  assert.equal(names(await get('/Patient/p/$everything?_type=Patient')), ['Patient/p', 'Patient/r', 'Patient/s'])
  const first = await get('/Patient/p/$everything?_count=4')
  const second = await get(first.link[1].url)
  const third = await get(second.link[1].url)
  assert.equal([first, second, third].flatMap((one) => names(one, 'match')).sort(), all)
  assert.equal(names(await get('/Patient/r/$everything'), 'match'), ['Patient/r'], 'a link leads one way')
  told.length = 0
  await get('/Patient/p/$everything')
  assert.ok(told[0]?.includes('Patient/r') && told[0]?.includes('Patient/s'), String(told[0]))
  restrictions = [inCompartment('Patient', 'p')]
  const shown = names(await get('/Patient/p/$everything'), 'match')
  assert.equal(shown, names(await get('/Patient/p/*?_count=100'), 'match'))
  restrictions = [{ types: { Patient: [{ rights: 'rs', query: '_id=p,r' }] }, others: [] }]
  assert.equal(names(await get('/Patient/p/$everything')), ['Patient/p', 'Patient/r'])
  restrictions = [{ types: { Patient: [{ rights: 'r' }] }, others: [] }]
  assert.equal(names(await get('/Patient/p/$everything')), ['Patient/p'])
})

test.run()
