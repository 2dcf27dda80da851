/**
 * A resource that the caller may not see is answered alike whether it is there, was deleted or never was: status, headers
 * and body of every interaction, alone and in Bundles, under every precondition.
 */
// npm test: sqlite and postgres, each with cases of its own
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Restriction } from '../../../kernel/index.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { inCompartment, matching } from '../../support/restrictions.ts'
import { type Asked, type Json, observation, openWorlds, patient, plain, type Worlds } from './worlds.ts'

const own = { type: 'Patient', id: 'own' }

const RULINGS: Readonly<Record<string, readonly Restriction[]>> = {
  'the compartment of a patient': [inCompartment('Patient', 'own')],
  'what matches a search': [
    {
      types: {
        Observation: [{ rights: 'cruds', query: 'status=final' }],
        Patient: [{ rights: 'cruds', query: 'active=true' }],
        Binary: [{ rights: 'cruds', query: '_tag=open' }],
      },
      others: [{ rights: 'cruds' }],
    },
  ],
  'a union: reading by compartment, writing by search': [
    {
      types: {
        Observation: [
          { rights: 'rs', compartment: own },
          { rights: 'cud', query: 'status=final' },
        ],
        Patient: [{ rights: 'rs', compartment: own }],
      },
      others: [],
    },
  ],
  'reading a part, creating all': [
    {
      types: { Observation: [{ rights: 'rs', compartment: own }, { rights: 'c' }] },
      others: [{ rights: 'rs', compartment: own }],
    },
  ],
  'two restrictions together': [inCompartment('Patient', 'own'), matching('Observation', 'status=final')],
}

const PRECONDITIONS: readonly Record<string, string>[] = [
  {},
  { 'if-match': 'W/"1"' },
  { 'if-match': 'W/"2"' },
  { 'if-match': 'W/"3"' },
  { 'if-match': '*' },
  { 'if-none-match': '*' },
  { 'if-match': 'W/"2"', 'if-none-match': '*' },
]
const PREFER = ['return=minimal', 'return=OperationOutcome']

const inside = observation('hidden', 'own')
const outside = observation('hidden', 'other', { status: 'preliminary' })
const BODIES: Readonly<Record<string, Json>> = {
  inside,
  outside,
  'refers to nothing': observation('hidden', 'own', { encounter: { reference: 'Encounter/nothing' } }),
  'is no resource': { resourceType: 'Observation', id: 'hidden', status: 7 },
  'of another id': observation('another', 'own'),
}
const replace = [{ op: 'replace', path: '/status', value: 'final' }]
const testing = [{ op: 'test', path: '/status', value: 'preliminary' }, ...replace]
const fhirPath = {
  resourceType: 'Parameters',
  parameter: [
    {
      name: 'operation',
      part: [
        { name: 'type', valueCode: 'replace' },
        { name: 'path', valueString: 'Observation.status' },
        { name: 'value', valueCode: 'final' },
      ],
    },
  ],
}
const JSON_PATCH = { 'content-type': 'application/json-patch+json' }

/** Changes of the hidden resource itself. */
const changes = (preconditions: typeof PRECONDITIONS): Asked[] => {
  const list: Asked[] = []
  const url = '/Observation/hidden'
  for (const headers of preconditions) {
    for (const body of Object.values(BODIES)) list.push({ method: 'PUT', url, headers, body })
    for (const body of [replace, testing])
      list.push({ method: 'PATCH', url, headers: { ...headers, ...JSON_PATCH }, body })
    list.push({ method: 'PATCH', url, headers, body: fhirPath })
    list.push({ method: 'DELETE', url, headers })
    list.push({ method: 'DELETE', url: '/Patient/hidden', headers })
    list.push({ method: 'PUT', url: '/Patient/hidden', headers, body: patient('hidden') })
  }
  for (const prefer of PREFER) {
    list.push({ method: 'PUT', url, headers: { prefer }, body: inside })
    list.push({ method: 'DELETE', url, headers: { prefer } })
  }
  const tag = { resourceType: 'Parameters', parameter: [{ name: 'meta', valueMeta: { tag: [{ code: 't' }] } }] }
  list.push(
    { method: 'POST', url: `${url}/$meta-add`, body: tag },
    { method: 'POST', url: `${url}/$meta-delete`, body: tag },
  )
  return list
}

const CONDITION = 'identifier=http://i|hidden'
const PRECONDITIONS_OF_CONDITIONAL: readonly Record<string, string>[] = [
  { 'if-match': 'W/"1"' },
  { 'if-match': '*' },
  { 'if-unmodified-since': 'Mon, 01 Jan 2001 00:00:00 GMT' },
]
const conditional = (): Asked[] => {
  const { id: _id, ...anonymous } = inside
  return [
    { method: 'PUT', url: `/Observation?${CONDITION}`, body: anonymous },
    { method: 'PUT', url: `/Observation?${CONDITION}`, body: inside },
    { method: 'PUT', url: '/Observation?_id=hidden', body: inside },
    { method: 'PUT', url: '/Observation?identifier=http://i|nobody', body: inside },
    ...PRECONDITIONS_OF_CONDITIONAL.flatMap((headers): Asked[] => [
      { method: 'PUT', url: `/Observation?${CONDITION}`, headers, body: inside },
      { method: 'PATCH', url: `/Observation?${CONDITION}`, headers: { ...JSON_PATCH, ...headers }, body: replace },
      { method: 'DELETE', url: `/Observation?${CONDITION}`, headers },
    ]),
    { method: 'PATCH', url: `/Observation?${CONDITION}`, headers: JSON_PATCH, body: replace },
    { method: 'DELETE', url: `/Observation?${CONDITION}` },
    { method: 'DELETE', url: '/Observation?_id=hidden' },
    { method: 'POST', url: '/Observation', headers: { 'if-none-exist': CONDITION }, body: anonymous },
  ]
}

const reads = (): Asked[] => {
  const list: Asked[] = []
  for (const type of ['Observation', 'Patient']) {
    const url = `/${type}/hidden`
    for (const headers of [
      {},
      { 'if-none-match': '*' },
      { 'if-none-match': 'W/"2"' },
      { 'if-modified-since': 'Fri, 01 Jan 2100 00:00:00 GMT' },
    ] as Record<string, string>[])
      list.push({ method: 'GET', url, headers }, { method: 'HEAD', url, headers })
    for (const version of [1, 2, 3, 4]) list.push({ method: 'GET', url: `${url}/_history/${version}` })
    for (const query of ['', '?_count=1', '?_since=2020-01-01', '?_at=2020'])
      list.push({ method: 'GET', url: `${url}/_history${query}` })
    for (const operation of ['$meta', '$validate', '$everything'])
      list.push({ method: 'GET', url: `${url}/${operation}` })
  }
  return list
}

/** What names the hidden patient. */
const referring = (): Asked[] => {
  const list: Asked[] = []
  for (const reference of [
    'Patient/hidden',
    'Patient/hidden/_history/1',
    'http://localhost:80/Patient/hidden',
    'Patient/nobody',
  ]) {
    const { id: _id, ...created } = observation('', 'own', { hasMember: [{ reference: 'Observation/hidden' }] })
    const focus = { ...created, hasMember: undefined, focus: [{ reference }] }
    list.push({ method: 'POST', url: '/Observation', body: focus })
    list.push({ method: 'POST', url: '/Observation', body: created })
    list.push({ method: 'PUT', url: '/Observation/own', body: { ...focus, id: 'own' } })
    list.push({
      method: 'PATCH',
      url: '/Observation/own',
      headers: JSON_PATCH,
      body: [{ op: 'add', path: '/focus', value: [{ reference }] }],
    })
    for (const mode of ['create', 'update']) {
      const body = {
        resourceType: 'Parameters',
        parameter: [
          { name: 'resource', resource: mode === 'create' ? focus : { ...focus, id: 'own' } },
          { name: 'mode', valueCode: mode },
        ],
      }
      list.push({ method: 'POST', url: `/Observation${mode === 'create' ? '' : '/own'}/$validate`, body })
    }
  }
  return list
}

const validations = (): Asked[] =>
  ['update', 'delete', 'profile'].map((mode) => ({
    method: 'POST',
    url: '/Observation/hidden/$validate',
    body: {
      resourceType: 'Parameters',
      parameter: [
        ...(mode === 'delete' ? [] : [{ name: 'resource', resource: inside }]),
        { name: 'mode', valueCode: mode },
      ],
    },
  }))

const SEARCHES = [
  '/Observation',
  '/Patient',
  '/Observation?_total=accurate',
  '/Observation?_total=estimate',
  '/Observation?_summary=count',
  '/Observation?_id=hidden',
  '/Observation?_id=hidden,own',
  '/Observation?code=H',
  '/Observation?code:not=H&_total=accurate',
  '/Observation?code=http://loinc.org|A',
  '/Observation?status=preliminary',
  `/Observation?${CONDITION}`,
  '/Observation?subject=Patient/hidden',
  '/Observation?subject:Patient.family=hidden',
  '/Observation?patient.active=false',
  '/Observation?_sort=code',
  '/Observation?_sort=-_lastUpdated',
  '/Observation?_include=Observation:subject',
  '/Observation?_include=*',
  '/Patient?_revinclude=Observation:subject',
  '/Patient?_revinclude=*',
  '/Patient?_has:Observation:subject:code=H',
  '/Patient?_content=hidden',
  '/Observation?_filter=code eq H',
  '/Observation?_explain=true',
  '/Observation?code=H&_explain=true',
  '/?_type=Patient,Observation',
  '/?_type=Patient,Observation&_total=accurate',
  '/?_id=hidden',
  `/?${CONDITION}`,
  '/?_sort=identifier',
  '/Patient/hidden/Observation',
  '/Patient/hidden/*',
  '/Patient/own/*?_total=accurate',
  '/Patient/own/$everything',
  '/Patient/$everything',
  '/Patient/$everything?_count=1',
  '/Observation/$meta',
  '/$meta',
  '/Observation/_history',
  '/Observation/_history?_count=1',
  '/Patient/_history?_count=2',
  '/_history',
  '/_history?_count=1',
  '/Observation/_history?_since=2020-01-01&_count=1',
]

const toEntry = ({ method, url, body, headers = {} }: Asked): Json => {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch, 'if-none-exist': ifNoneExist } = headers
  const patch = () => ({
    resourceType: 'Binary',
    contentType: 'application/json-patch+json',
    data: Buffer.from(JSON.stringify(body)).toString('base64'),
  })
  return {
    ...(body === undefined ? {} : { resource: Array.isArray(body) ? patch() : body }),
    request: {
      method,
      url: url.slice(1),
      ...(ifMatch === undefined ? {} : { ifMatch }),
      ...(ifNoneMatch === undefined ? {} : { ifNoneMatch }),
      ...(ifNoneExist === undefined ? {} : { ifNoneExist }),
    },
  }
}
const BATCH = 10 // entries
const inBundle = (type: 'batch' | 'transaction', asked: readonly Asked[]): Asked => ({
  method: 'POST',
  url: '/',
  body: { resourceType: 'Bundle', type, entry: asked.map(toEntry) },
})
/** A Bundle refers to the hidden one by a condition, and to what it makes itself. */
const linking = (): Asked[] => {
  const { id: _id, ...created } = observation('', 'own', { hasMember: [{ reference: `Observation?${CONDITION}` }] })
  return [inBundle('transaction', [{ method: 'POST', url: '/Observation', body: created }])]
}

let compared = 0
let unequal: string[] = []
/** Fails with the number of requests that tell, and the first of them. */
const assertEqual = (): void => {
  assert.is(unequal.length, 0, `${unequal.length} of the answers differ: ${unequal.slice(0, 3).join('\n')}`)
}
/** Asks all three, and follows next links. `answers`: how many the answer of one of them holds. */
const compare = async ({ all }: Worlds, asked: Asked, answers = 1): Promise<void> => {
  const name = `${asked.method} ${asked.url} ${JSON.stringify(asked.headers ?? {})} ${JSON.stringify(asked.body ?? '')}`
  const next: string[] = []
  let told: string | undefined
  for (const { name: world, ask } of all) {
    const answer = await ask(asked)
    assert.ok(answer.status < 500, `${name}: ${answer.text}`)
    const said = plain(answer)
    told ??= said
    if (said !== told) unequal.push(`${world}: ${name}\n  ${told}\n  ${said}`)
    const link = answer.text.includes('"relation":"next"')
      ? answer.json.link?.find((one: Json) => one.relation === 'next')?.url
      : undefined
    if (link !== undefined) next.push(link.slice(link.indexOf('/', 8)))
  }
  compared += answers
  if (next.length > 0) await follow(all, next)
}
const follow = async (all: Worlds['all'], links: readonly string[]): Promise<void> => {
  let urls = links
  for (let pages = 0; urls.length > 0 && pages < 30; pages += 1) {
    const answers = await Promise.all(all.map(({ ask }, at) => ask({ method: 'GET', url: urls[at] as string })))
    for (const answer of answers)
      if (plain(answer) !== plain(answers[0]!)) unequal.push(`${urls[0]}\n  ${plain(answers[0]!)}\n  ${plain(answer)}`)
    compared += 1
    urls = answers.flatMap(({ json }) => {
      const link = json.link?.find((one: Json) => one.relation === 'next')?.url
      return link === undefined ? [] : [link.slice(link.indexOf('/', 8))]
    })
  }
}

let worlds: Worlds
test.before(async () => {
  worlds = await openWorlds()
})
test.after(() => worlds.stop())
test.after.each(() => {
  worlds.restrict()
  unequal = []
})

const alone = (preconditions: typeof PRECONDITIONS, searches: readonly string[]): readonly Asked[] => [
  ...changes(preconditions),
  ...reads(),
  ...validations(),
  ...searches.map((url) => ({ method: 'GET', url })),
  ...referring(),
  ...conditional(),
]

/**
 * Preconditions take the same guards under every ruling, in the process: on SQLite the first two have all of them, the others,
 * and all on PostgreSQL, share them.
 */
const ofAll = chosenKind.name === 'postgres' ? 0 : 2
/** Half of a list under each ruling, the other half under the next. */
const halfAt = <T>(ruling: number, list: readonly T[]): readonly T[] =>
  list.filter((_one, nth) => nth % 2 === ruling % 2)
/** On PostgreSQL the statements take most of the time. */
const searchesAt = (ruling: number): readonly string[] =>
  chosenKind.name === 'postgres' ? halfAt(ruling, SEARCHES) : SEARCHES
const preconditionsAt = (ruling: number): typeof PRECONDITIONS =>
  PRECONDITIONS.filter((_one, at) => ruling < ofAll || at === 0 || at % 3 === ruling % 3)

for (const [at, [name, restrictions]] of Object.entries(RULINGS).entries())
  test(`${name}: what is hidden is answered as what never was`, async () => {
    worlds.restrict(...restrictions)
    for (const asked of alone(preconditionsAt(at), searchesAt(at))) await compare(worlds, asked)
    assertEqual()
  })

// Entries take the same guards under every ruling: two of them, which share the list, show that they are asked.
for (const [at, [name, restrictions]] of Object.entries(RULINGS).slice(0, 2).entries())
  test(`${name}: so it is in Bundles`, async () => {
    worlds.restrict(...restrictions)
    const entries = halfAt(at, alone(preconditionsAt(at), SEARCHES)).filter(
      ({ method, headers }) => method !== 'HEAD' && headers?.prefer === undefined,
    )
    // The entries of a batch are answered one by one. A transaction ends with the first that is refused.
    for (let from = 0; from < entries.length; from += BATCH) {
      const some = entries.slice(from, from + BATCH)
      await compare(worlds, inBundle('batch', some), some.length)
    }
    for (const asked of entries) await compare(worlds, inBundle('transaction', [asked]))
    for (const asked of linking()) await compare(worlds, asked)
    assertEqual()
  })

test('what is hidden has stayed as it was', async () => {
  worlds.restrict()
  for (const type of ['Observation', 'Patient']) {
    const answers = await Promise.all(worlds.all.map(({ ask }) => ask({ method: 'GET', url: `/${type}/hidden` })))
    assert.equal(
      answers.map(({ status, headers }) => [status, headers.etag]),
      [
        [200, 'W/"2"'],
        [410, 'W/"3"'],
        [404, undefined],
      ],
    )
  }
})

test('more than a thousand answers were compared', () => {
  assert.ok(compared > 1_000, `${compared}`)
})

test.run()
