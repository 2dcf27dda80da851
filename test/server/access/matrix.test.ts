/**
 * Random rulings against an independent reading of them over the JSON: who may read, find, follow, invoke, change and delete
 * which version, alone and in Bundles, and what is answered otherwise. Nothing is changed: each change has a precondition
 * that fails last.
 */
// npm test: postgres, which is asked statements here that no other file asks
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin, type Restriction, type Right } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import terminology from '../../../plugins/terminology/index.ts'
import validation from '../../../plugins/validation/index.ts'
import { sessionsInTurn } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'
import {
  COMPARTMENT,
  CURRENT,
  currentOf,
  type Json,
  NEVER,
  nameOf,
  QUERIES,
  RIGHTS,
  referencesOf,
  TYPES,
  VERSIONS,
} from './matrix-data.ts'
import { type Oracle, oracleOf, randomFrom, randomRestriction } from './matrix-oracle.ts'

const RULINGS = 14
const INSTANCES = 11 // of a ruling, by chance
const SEED = 20_240_229
const random = randomFrom(SEED)

let restrictions: readonly Restriction[] = []
let may: Oracle = oracleOf(restrictions)
const gate = definePlugin({
  name: 'gate',
  setup({ hooks }) {
    hooks.authorize.tap('restrict', (_request, _interaction, ruling) => {
      for (const one of restrictions) ruling.restrict(one)
    })
  },
})

type Versions = readonly (Json | null)[]
/** What a version is judged by: a deletion by what it deleted. */
const judged = (versions: Versions, at: number): Json | undefined => versions[at] ?? versions[at - 1] ?? undefined

let server: TestServer
const headers = { 'content-type': 'application/fhir+json', accept: 'application/fhir+json' }
const ask = (method: string, url: string, body?: Json, more: Json = {}) =>
  server.inject({
    method: method as 'GET',
    url,
    headers: { ...headers, ...more },
    ...(body && { payload: JSON.stringify(body) }),
  })

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), gate, validation, terminology, ...fhirPlugins],
    settings: {
      conformance: { update_as_create: true, validation: 'structure' },
      cluster: { db_pool: sessionsInTurn() },
    },
  })
  for (const versions of VERSIONS) {
    const url = `/${nameOf(versions[0] as Json)}`
    for (const one of versions) {
      const answer = await (one === null ? ask('DELETE', url) : ask('PUT', url, one))
      assert.ok(answer.statusCode < 300, answer.body)
    }
  }
})
test.after(() => server.stop())

let cells = 0
let wrong: string[] = []
const check = (actual: unknown, expected: unknown, what: string): void => {
  cells += 1
  if (JSON.stringify(actual) !== JSON.stringify(expected))
    wrong.push(`${what}: ${JSON.stringify(actual)} for ${JSON.stringify(expected)}`)
}
const statusOf = async (method: string, url: string, body?: Json, more?: Json): Promise<number> =>
  (await ask(method, url, body, more)).statusCode

/** `Type/id` of what an answer holds, with the version in a history. */
const found = async (url: string): Promise<number | readonly string[]> => {
  const answer = await ask('GET', url)
  if (answer.statusCode !== 200) return answer.statusCode
  const { entry = [], total } = answer.json() as Json
  if (total !== undefined) {
    const matches = entry.filter(({ search }: Json) => search?.mode !== 'include')
    assert.is(total, matches.length, url)
  }
  return entry
    .map(({ fullUrl, response }: Json) => `${fullUrl.split('/').slice(-2).join('/')} ${response?.etag ?? ''}`.trim())
    .sort()
}
const names = (list: readonly Json[]): readonly string[] => list.map(nameOf).sort()

/** Of a read of a version, or of an operation that reads the current one. */
const readStatus = (versions: Versions, at: number, type: string): number => {
  if (may.isNone('r', type)) return 403
  const one = judged(versions, at)
  if (one === undefined || !may.holds('r', one)) return 404
  return versions[at] === null ? 410 : 200
}

/** What a change with a precondition that cannot be met is answered. */
const changeStatus = (right: Right, versions: Versions, sent: Json, isUpdate: boolean): number => {
  const type = sent.resourceType
  if (may.isNone(right, type)) return 403
  if (isUpdate && !may.holdsItself(right, sent)) return 403
  const target = judged(versions, versions.length - 1)
  if (target === undefined) return may.isAll('r', type) || may.isAll('s', type) || may.isAll(right, type) ? 412 : 404
  return may.holds(right, target) ? 412 : may.sees(target) ? 403 : 404
}

/** Of a deletion by a condition that names the id, with a version: what the search does not find has none. */
const conditionalStatus = (versions: Versions, type: string): number => {
  if (may.isNone('d', type) || may.isClosed('s', type)) return 403
  const one = versions.at(-1)
  if (one === undefined || one === null || !may.holds('s', one)) return 412
  return may.holds('d', one) ? 412 : 403
}

/** Code of the one issue of `$validate?mode=delete`. */
const deletionIssue = (versions: Versions): string => {
  const one = judged(versions, versions.length - 1)
  if (one === undefined || !may.holds('r', one)) return 'not-found'
  if (versions.at(-1) === null) return 'deleted'
  return may.holds('d', one) ? 'informational' : 'forbidden'
}

const UNMET = { 'if-match': 'W/"999"' }

const checkInstance = async (versions: Versions, first: Json): Promise<void> => {
  const { resourceType: type } = first
  const url = `/${nameOf(first)}`
  const last = versions.length - 1
  const now = readStatus(versions, last, type)
  check(await statusOf('GET', url), now, `GET ${url}`)
  for (const at of versions.keys()) {
    const past = `${url}/_history/${at + 1}`
    check(await statusOf('GET', past), readStatus(versions, at, type), `GET ${past}`)
  }
  const open = [...versions.keys()].filter((at) => [200, 410].includes(readStatus(versions, at, type)))
  const seen = open.map((at) => `${nameOf(first)} W/"${at + 1}"`).sort()
  const past = may.isNone('r', type) ? 403 : seen.length === 0 ? 404 : seen
  check(await found(`${url}/_history`), past, `GET ${url}/_history`)
  check(await statusOf('GET', `${url}/$meta`), now, `GET ${url}/$meta`)
  check(await statusOf('GET', `${url}/$validate`), now, `GET ${url}/$validate`)
  const rehearsed = await ask('GET', `${url}/$validate?mode=delete`)
  const told = rehearsed.statusCode === 200 ? rehearsed.json().issue[0].code : rehearsed.statusCode
  check(told, may.isNone('r', type) ? 403 : deletionIssue(versions), `GET ${url}/$validate?mode=delete`)
  if (type === 'ValueSet') check(await statusOf('GET', `${url}/$expand`), now, `GET ${url}/$expand`)
  const [deletion, update] = [changeStatus('d', versions, first, false), changeStatus('u', versions, first, true)]
  check(await statusOf('DELETE', url, undefined, UNMET), deletion, `DELETE ${url}`)
  check(await statusOf('PUT', url, first, UNMET), update, `PUT ${url}`)
  const condition = `/${type}?_id=${first.id}`
  check(await statusOf('DELETE', condition, undefined, UNMET), conditionalStatus(versions, type), `DELETE ${condition}`)
  await checkBundles(url.slice(1), first, [now, deletion, update])
}

/** The same as entries: of a batch each for itself; of a transaction alone, because the first that is refused ends it. */
const checkBundles = async (url: string, resource: Json, expected: readonly number[]): Promise<void> => {
  const entry: readonly Json[] = [
    { request: { method: 'GET', url } },
    { request: { method: 'DELETE', url, ifMatch: 'W/"999"' } },
    { request: { method: 'PUT', url, ifMatch: 'W/"999"' }, resource },
  ]
  for (const [at, one] of entry.entries()) {
    const [answer, transacted] = [
      await ask('POST', '/', { resourceType: 'Bundle', type: 'batch', entry: [one] }),
      await statusOf('POST', '/', { resourceType: 'Bundle', type: 'transaction', entry: [one] }),
    ]
    const what = `${one.request.method} ${url}`
    check(Number(answer.json().entry[0].response.status.slice(0, 3)), expected[at], `batch of ${what}`)
    check(transacted, expected[at], `transaction of ${what}`)
  }
}

const matches = (type: string, holds: (one: Json) => boolean = () => true): readonly Json[] =>
  currentOf(type).filter((one) => may.holds('s', one) && holds(one))
const foundOr403 = (types: readonly string[], list: () => readonly Json[]): number | readonly string[] =>
  types.some((type) => may.isClosed('s', type)) ? 403 : names(list())

const checkType = async (type: string): Promise<void> => {
  for (const query of ['', '?_total=accurate', '?_sort=_id', `?${QUERIES[type]?.[0]?.text}`]) {
    const holds = query.startsWith('?_') || query === '' ? undefined : QUERIES[type]?.[0]?.holds
    const isId = query.startsWith('?_id=')
    const wanted = (): readonly Json[] => matches(type, isId ? QUERIES[type]?.[0]?.holds : holds)
    check(await found(`/${type}${query}`), foundOr403([type], wanted), `GET /${type}${query}`)
  }
  const past = VERSIONS.filter((versions) => versions[0]?.resourceType === type).flatMap(pastFound)
  check(await found(`/${type}/_history`), may.isNone('s', type) ? 403 : past.sort(), `GET /${type}/_history`)
  const isAny = RIGHTS.some((right) => !may.isNone(right, type))
  check(await statusOf('GET', `/${type}/$meta`), isAny && may.isAll('s', type) ? 200 : 403, `GET /${type}/$meta`)
  if (type === 'ValueSet') {
    const expand = '/ValueSet/$expand?url=http://sets.example/vs'
    check(await statusOf('GET', expand), isAny ? 200 : 403, expand)
  }
}
const pastFound = (versions: Versions): readonly string[] =>
  versions.flatMap((_one, at) => {
    const decided = judged(versions, at)
    return decided && may.holds('s', decided) ? [`${nameOf(decided)} W/"${at + 1}"`] : []
  })

const byName = (name: string): Json | undefined => CURRENT.find((one) => nameOf(one) === name)
const finds = (name: string): Json | undefined => {
  const one = byName(name)
  return one !== undefined && may.holds('s', one) ? one : undefined
}
/** With what they refer to: what may be read of it. */
const withReferred = (list: readonly Json[], isMeant: (one: Json) => boolean): readonly Json[] => [
  ...list,
  ...[...new Set(list.flatMap(referencesOf))].flatMap((name) => {
    const one = byName(name)
    return one !== undefined && isMeant(one) && may.holds('r', one) && !list.includes(one) ? [one] : []
  }),
]

/** Searches that go from one type to another. */
const checkLinks = async (): Promise<void> => {
  const observations = (): readonly Json[] => matches('Observation')
  const expected: readonly (readonly [string, number | readonly string[]])[] = [
    [
      '/Observation?subject:Patient.active=true',
      foundOr403(['Observation', 'Patient'], () =>
        observations().filter(({ subject }) => finds(subject.reference)?.active === true),
      ),
    ],
    [
      '/Observation?encounter:Encounter.status=finished',
      foundOr403(['Observation', 'Encounter'], () =>
        observations().filter(({ encounter }) => finds(encounter?.reference)?.status === 'finished'),
      ),
    ],
    [
      '/Patient?_has:Observation:subject:status=final',
      foundOr403(['Observation', 'Patient'], () =>
        matches('Patient', (one) =>
          observations().some(({ status, subject }) => status === 'final' && subject.reference === nameOf(one)),
        ),
      ),
    ],
    [
      '/Observation?_list=l',
      foundOr403(['Observation', 'List'], () => {
        const items = referencesOf(finds('List/l')?.entry)
        return observations().filter((one) => items.includes(nameOf(one)))
      }),
    ],
    [
      '/Observation?_include=Observation:subject&_include=Observation:performer',
      foundOr403(['Observation'], () =>
        withReferred(observations(), ({ resourceType }) => ['Patient', 'Practitioner'].includes(resourceType)),
      ),
    ],
    [
      '/Patient?_revinclude=Observation:subject',
      foundOr403(['Patient'], () => {
        const patients = matches('Patient')
        return [...patients, ...observations().filter(({ subject }) => patients.includes(byName(subject.reference)!))]
      }),
    ],
    [
      '/Patient/p1/Observation',
      foundOr403(['Observation'], () => observations().filter(({ subject }) => subject.reference === 'Patient/p1')),
    ],
  ]
  for (const [url, wanted] of expected) check(await found(url), wanted, `GET ${url}`)
}

/** The record of a Patient or Encounter: what lies in its compartment, and what that refers to elsewhere. */
const checkRecord = async (of: string, isInside: (one: Json) => boolean): Promise<void> => {
  const [type = ''] = of.split('/')
  const url = `/${of}/$everything`
  const versions = VERSIONS.find(([first]) => nameOf(first as Json) === of) as Versions
  const last = versions.length - 1
  const status = readStatus(versions, last, type)
  const isOwn = (one: Json): boolean => one.resourceType !== type && isInside(one)
  const record = (): readonly Json[] => [
    versions[last] as Json,
    ...CURRENT.filter((one) => isOwn(one) && may.holds('s', one)),
  ]
  // Of other patients there is nothing in the record of one.
  const isReferred = (one: Json): boolean => one.resourceType !== 'Patient' || type !== 'Patient'
  const referred = (one: Json): boolean => isReferred(one) && !isInside(one)
  check(await found(url), status === 200 ? names(withReferred(record(), referred)) : status, `GET ${url}`)
}
const checkRecords = async (): Promise<void> => {
  for (const id of ['p1', 'p2'])
    await checkRecord(`Patient/${id}`, (one) => (COMPARTMENT[one.resourceType]?.(one) ?? []).includes(`Patient/${id}`))
  for (const id of ['v', 'w'])
    await checkRecord(`Encounter/${id}`, (one) => one.encounter?.reference === `Encounter/${id}`)
}

const checkSystem = async (): Promise<void> => {
  const past = VERSIONS.flatMap(pastFound).sort()
  check(await found('/_history?_count=200'), past, 'GET /_history')
  const open = TYPES.filter((type) => !may.isClosed('s', type))
  if (open.length > 0) {
    const all = open.flatMap((type) => matches(type))
    check(await found(`/?_type=${TYPES.join(',')}&_count=200`), names(all), 'GET /?_type=')
  }
  check(await statusOf('GET', '/$meta'), may.covers('r', 's') ? 200 : 403, 'GET /$meta')
}

test(`under ${RULINGS} random rulings each answer is what the grants say`, async () => {
  const all: readonly (readonly [Versions, Json])[] = [
    ...VERSIONS.map((versions) => [versions, versions[0] as Json] as const),
    ...NEVER.map((one) => [[], one] as const),
  ]
  for (let n = 0; n < RULINGS; n += 1) {
    restrictions = Array.from({ length: 1 + random(2) }, () => randomRestriction(random))
    may = oracleOf(restrictions)
    wrong = []
    for (let at = 0; at < INSTANCES; at += 1) await checkInstance(...(all[random(all.length)] as (typeof all)[number]))
    for (const type of TYPES) await checkType(type)
    await checkLinks()
    await checkRecords()
    await checkSystem()
    assert.equal(wrong.slice(0, 5), [], `ruling ${n}: ${JSON.stringify(restrictions)}`)
  }
})

test('the matrix has at least three thousand cells', () => {
  assert.ok(cells >= 3_000, `${cells}`)
})

test.run()
