/** All pages of $everything together are the record, each resource once, whatever their size. */
// npm test: postgres, which is asked statements here that no other file asks
// database: sqlite and postgres, because in memory the same statements run as on a file
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin, type Restriction } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { postTransaction } from '../../support/post-bundle.ts'
import { matching, onlyTypes } from '../../support/restrictions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

type Json = Record<string, any>

const OBSERVATIONS = 1_200
const PRACTITIONERS = 1_100 // more than one page may include
const MEDICATIONS = 90

let restrictions: readonly Restriction[] = []
const gate = definePlugin({
  name: 'gate',
  setup({ hooks }) {
    hooks.authorize.tap('restrict', (_request, _interaction, ruling) => {
      for (const one of restrictions) ruling.restrict(one)
    })
  },
})

const to = (reference: string): Json => ({ reference })
const keyOf = ({ resourceType, id }: Json): string => `${resourceType}/${id}`
const range = (count: number): readonly number[] => [...Array(count).keys()]

const patient = (id: string): Json => ({
  resourceType: 'Patient',
  id,
  managingOrganization: to('Organization/ward'),
  extension: [{ url: 'http://example.org/referrer', valueReference: to('Organization/referrer') }],
})
const observation = (of: string, n: number): Json => ({
  resourceType: 'Observation',
  id: `${of}-o${n}`,
  status: 'final',
  code: { text: 'x' },
  subject: to(`Patient/${of}`),
  performer: [to(`Practitioner/d${n % PRACTITIONERS}`)],
  effectiveDateTime: n % 2 === 0 ? '2020-01-01' : '2021-01-01',
})
const request = (of: string, n: number): Json => ({
  resourceType: 'MedicationRequest',
  id: `${of}-r${n}`,
  status: 'active',
  intent: 'order',
  subject: to(`Patient/${of}`),
  medicationReference: to(`Medication/m${n}`),
})
/** Targets everything that was made of the record so far. */
const provenance = (of: string, targets: readonly Json[]): Json => ({
  resourceType: 'Provenance',
  id: `${of}-provenance`,
  target: targets.map((one) => to(keyOf(one))),
  recorded: '2024-01-01T00:00:00Z',
  // No search parameter names Provenance.agent.onBehalfOf.
  agent: [{ who: to('Practitioner/d0'), onBehalfOf: to('Organization/behalf') }],
})
const recordOf = (of: string, observations: number, requests: number): readonly Json[] => {
  const members: readonly Json[] = [
    patient(of),
    ...range(observations).map((n) => observation(of, n)),
    ...range(requests).map((n) => request(of, n)),
    {
      resourceType: 'Claim',
      id: `${of}-claim`,
      patient: to(`Patient/${of}`),
      contained: [{ resourceType: 'Coverage', id: 'c', payor: [to('Organization/payor')] }],
      insurance: [{ sequence: 1, focal: true, coverage: to('#c') }],
    },
    { resourceType: 'List', id: `${of}-list`, subject: to(`Patient/${of}`), entry: [{ item: to('Patient/other') }] },
  ]
  return [...members, provenance(of, members)]
}

const around: readonly Json[] = [
  { resourceType: 'Patient', id: 'other' },
  ...['ward', 'referrer', 'behalf', 'payor', 'unrelated'].map((id) => ({ resourceType: 'Organization', id })),
  ...range(PRACTITIONERS).map((n) => ({ resourceType: 'Practitioner', id: `d${n}` })),
  ...range(MEDICATIONS).map((n) => ({ resourceType: 'Medication', id: `m${n}` })),
]
const large = recordOf('large', OBSERVATIONS, MEDICATIONS)
const small = recordOf('small', 8, 3)
const stored = new Map([...around, ...large, ...small].map((one) => [keyOf(one), one]))

/** Every reference of a value, at any depth. */
const referencesIn = (value: unknown): readonly string[] =>
  Array.isArray(value)
    ? value.flatMap(referencesIn)
    : typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([key, one]) =>
          key === 'reference' && typeof one === 'string' ? [one] : referencesIn(one),
        )
      : []
/** The members that are let through and what they refer to, as the JSON tells. */
const truth = (record: readonly Json[], isMember: (one: Json) => boolean = () => true): readonly string[] => {
  const members = new Set(record.map(keyOf))
  const shown = record.filter(isMember)
  const related = shown
    .flatMap(referencesIn)
    .filter((key) => stored.has(key) && !members.has(key) && !key.startsWith('Patient/'))
  return [...new Set([...shown.map(keyOf), ...related])].sort()
}

let server: TestServer
const save = async (resources: readonly Json[]): Promise<void> => {
  for (let at = 0; at < resources.length; at += 500) {
    const entry = resources
      .slice(at, at + 500)
      .map((resource) => ({ resource, request: { method: 'PUT', url: keyOf(resource) } }))
    await postTransaction(server, entry)
  }
}

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), gate, ...fhirPlugins],
    settings: { conformance: { update_as_create: true } },
  })
  await save(around)
  await save(large)
  await save(small)
})
test.after(() => server.stop())
test.before.each(() => {
  restrictions = []
})

const pagesOf = async (url: string): Promise<readonly Json[]> => {
  const pages: Json[] = []
  for (let next: string | undefined = url; next !== undefined; ) {
    const answer = await server.inject(next.replace(/^https?:\/\/[^/]+/, ''))
    assert.is(answer.statusCode, 200, answer.body.slice(0, 500))
    const bundle: Json = answer.json()
    pages.push(bundle)
    next = bundle.link.find(({ relation }: Json) => relation === 'next')?.url
  }
  return pages
}
const entriesOf = (pages: readonly Json[]): readonly Json[] => pages.flatMap(({ entry = [] }) => entry)
const keysOf = (pages: readonly Json[]): readonly string[] =>
  entriesOf(pages)
    .map(({ resource }) => keyOf(resource))
    .sort()

test('the union of the pages is the record, each resource once, for every _count', async () => {
  const expected = truth(small)
  for (const count of [1, 2, 3, 5, 10, 13, 50])
    assert.equal(keysOf(await pagesOf(`/Patient/small/$everything?_count=${count}`)), expected, `_count=${count}`)
  assert.ok(expected.includes('Organization/behalf'), 'a reference without a search parameter is followed')
  assert.ok(expected.includes('Organization/payor'), 'and one of a contained resource')
  assert.ok(expected.includes('Organization/referrer'), 'and one of an extension')
})

test('a Provenance over thousands of resources crowds nothing out', async () => {
  const expected = truth(large)
  assert.ok(expected.length > OBSERVATIONS + PRACTITIONERS + MEDICATIONS)
  for (const query of ['', '?_count=50', '?_count=333', '?_count=1000']) {
    const pages = await pagesOf(`/Patient/large/$everything${query}`)
    assert.equal(keysOf(pages), expected, query)
    const outcomes = entriesOf(pages).filter(({ search }) => search.mode === 'outcome')
    assert.is(outcomes.length, 0)
  }
})

test('the compartment comes as matches, the others as what is included, also across pages', async () => {
  const entries = entriesOf(await pagesOf('/Patient/large/$everything?_count=400'))
  const modeOf = (mode: string): readonly string[] =>
    entries.filter(({ search }) => search.mode === mode).map(({ resource }) => keyOf(resource))
  assert.equal([...modeOf('match')].sort(), large.map(keyOf).sort())
  assert.is(modeOf('include').length, truth(large).length - large.length)
  const modes = entries.map(({ search }) => search.mode)
  assert.is(modes.lastIndexOf('match') + 1, modes.indexOf('include'))
})

test('_type and _since leave out of the record what they do not ask for, wherever it is referred to', async () => {
  assert.equal(keysOf(await pagesOf('/Patient/small/$everything?_type=Medication,Organization&_count=2')), [
    'Medication/m0',
    'Medication/m1',
    'Medication/m2',
    'Organization/behalf',
    'Organization/payor',
    'Organization/referrer',
    'Organization/ward',
  ])
  const answer = await server.inject({
    method: 'PUT',
    url: '/Medication/m1',
    headers: { 'content-type': 'application/fhir+json' },
    payload: JSON.stringify({ resourceType: 'Medication', id: 'm1', status: 'active' }),
  })
  const since = encodeURIComponent(answer.json().meta.lastUpdated)
  assert.equal(keysOf(await pagesOf(`/Patient/small/$everything?_since=${since}`)), ['Medication/m1'])
})

test('start and end leave care out, and what only that care refers to', async () => {
  const late = (one: Json): boolean => one.effectiveDateTime === '2021-01-01'
  const expected = truth(small, (one) => !late(one))
  assert.equal(keysOf(await pagesOf('/Patient/small/$everything?end=2020-12-31&_count=3')), expected)
})

test('what a caller may not see is not answered, and not followed', async () => {
  restrictions = [onlyTypes('Patient', 'Observation', 'Practitioner', 'Organization')]
  const expected = truth(small, ({ resourceType }) => ['Patient', 'Observation'].includes(resourceType))
  for (const count of [1, 4, 100])
    assert.equal(keysOf(await pagesOf(`/Patient/small/$everything?_count=${count}`)), expected, `_count=${count}`)
  restrictions = [matching('Practitioner', '_id=d1,d2')]
  const shown = keysOf(await pagesOf('/Patient/small/$everything?_count=4'))
  assert.equal(
    shown.filter((key) => key.startsWith('Practitioner')),
    ['Practitioner/d1', 'Practitioner/d2'],
  )
})

test.run()
