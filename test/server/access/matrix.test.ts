/**
 * Random rulings against an independent reading of them over the JSON: who may read, find, change and delete which
 * version, and what is answered otherwise. Nothing is changed: each change has a precondition that fails last.
 */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  type Compartment,
  definePlugin,
  type Grant,
  type Restriction,
  type Right,
  type Rights,
} from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

type Json = Record<string, any>

const RULINGS = 80
const SEED = 20_240_229

let restrictions: readonly Restriction[] = []
const gate = definePlugin({
  name: 'gate',
  setup({ hooks }) {
    hooks.authorize.tap('restrict', (_request, _interaction, ruling) => {
      for (const one of restrictions) ruling.restrict(one)
    })
  },
})

const observation = (id: string, patient: string, status: string, code: string): Json => ({
  resourceType: 'Observation',
  id,
  status,
  code: { coding: [{ system: 'http://c', code }] },
  subject: { reference: `Patient/${patient}` },
})
const patient = (id: string, active: boolean, gender: string): Json => ({ resourceType: 'Patient', id, active, gender })

/** Versions of each resource, null for a deletion. */
const VERSIONS: readonly (readonly (Json | null)[])[] = [
  [patient('p1', true, 'male'), patient('p1', true, 'female')],
  [patient('p2', false, 'male')],
  [patient('p3', true, 'female'), null],
  [observation('a', 'p1', 'final', 'A'), observation('a', 'p1', 'final', 'B')],
  [observation('b', 'p1', 'preliminary', 'A')],
  [observation('c', 'p2', 'final', 'A')],
  [observation('d', 'p2', 'preliminary', 'C'), observation('d', 'p1', 'preliminary', 'C')],
  [observation('e', 'p1', 'final', 'B'), null],
  [
    observation('f', 'p2', 'preliminary', 'B'),
    observation('f', 'p2', 'final', 'A'),
    null,
    observation('f', 'p2', 'final', 'C'),
  ],
  [{ resourceType: 'Practitioner', id: 'x', active: true }],
]
const NEVER: readonly Json[] = [patient('never', true, 'male'), observation('never', 'p1', 'final', 'A')]
const TYPES = ['Patient', 'Observation', 'Practitioner'] as const

interface Query {
  readonly text: string
  readonly holds: (one: Json) => boolean
}
const codeOf = (one: Json): string => one.code.coding[0].code
const QUERIES: Readonly<Record<string, readonly Query[]>> = {
  Observation: [
    { text: 'status=final', holds: ({ status }) => status === 'final' },
    { text: 'code=A,C', holds: (one) => codeOf(one) !== 'B' },
    { text: 'code:not=http://c|A', holds: (one) => codeOf(one) !== 'A' },
    { text: 'status=preliminary&code=http://c|', holds: ({ status }) => status === 'preliminary' },
    { text: 'subject=Patient/p2', holds: ({ subject }) => subject.reference === 'Patient/p2' },
    { text: '_id=a,f', holds: ({ id }) => id === 'a' || id === 'f' },
  ],
  Patient: [
    { text: 'active=true', holds: ({ active }) => active },
    { text: 'gender:not=male', holds: ({ gender }) => gender !== 'male' },
  ],
  Practitioner: [{ text: 'active=false', holds: ({ active }) => !active }],
}

// Xorshift: the same rulings each time.
let state = SEED
const random = (below: number): number => {
  state ^= state << 13
  state ^= state >>> 17
  state ^= state << 5
  return (state >>> 0) % below
}
const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T
const randomRights = (): Rights => [...'cruds'].filter(() => random(3) > 0).join('') as Rights
const randomGrant = (type: string | undefined): Grant => {
  const query = type !== undefined && random(2) === 0 ? pick(QUERIES[type] ?? []).text : undefined
  const compartment: Compartment | undefined =
    random(3) === 0 ? { type: 'Patient', id: pick(['p1', 'p2', 'nobody']) } : undefined
  return { rights: randomRights(), ...(query && { query }), ...(compartment && { compartment }) }
}
const randomRestriction = (): Restriction => {
  const types: Record<string, readonly Grant[]> = {}
  for (const type of TYPES) if (random(4) > 0) types[type] = Array.from({ length: random(4) }, () => randomGrant(type))
  return { types, others: Array.from({ length: random(3) }, () => randomGrant(undefined)) }
}

const grantsOf = ({ types, others }: Restriction, type: string): readonly Grant[] => types[type] ?? others
const patientOf = ({ resourceType, id, subject }: Json): string | undefined =>
  resourceType === 'Patient' ? `Patient/${id}` : subject?.reference
const grants = ({ rights, query, compartment }: Grant, right: Right, one: Json): boolean =>
  rights.includes(right) &&
  (compartment === undefined || patientOf(one) === `Patient/${compartment.id}`) &&
  (query === undefined || QUERIES[one.resourceType]?.find(({ text }) => text === query)?.holds(one) === true)
const holds = (right: Right, one: Json): boolean =>
  restrictions.every((restriction) =>
    grantsOf(restriction, one.resourceType).some((grant) => grants(grant, right, one)),
  )
const isAll = (right: Right, type: string): boolean =>
  restrictions.every((restriction) =>
    grantsOf(restriction, type).some(
      ({ rights, query, compartment }) => rights.includes(right) && query === undefined && compartment === undefined,
    ),
  )
const isNone = (right: Right, type: string): boolean =>
  restrictions.some((restriction) => !grantsOf(restriction, type).some(({ rights }) => rights.includes(right)))
/** Also where all that is granted lies in a compartment that never has the type. */
const isClosed = (right: Right, type: string): boolean =>
  isNone(right, type) ||
  (type === 'Practitioner' &&
    restrictions.some((restriction) =>
      grantsOf(restriction, type).every(
        ({ rights, compartment }) => !rights.includes(right) || compartment !== undefined,
      ),
    ))
const sees = (one: Json): boolean => holds('r', one) || holds('s', one)

/** What a change with a precondition that cannot be met is answered. */
const changeStatus = (right: Right, list: readonly (Json | null)[], sent: Json, isUpdate: boolean): number => {
  const type = sent.resourceType
  if (isNone(right, type)) return 403
  if (isUpdate && !holds(right, sent)) return 403
  const target = list.at(-1) ?? list.at(-2)
  if (target === undefined || target === null)
    return isAll('r', type) || isAll('s', type) || isAll(right, type) ? 412 : 404
  return holds(right, target) ? 412 : sees(target) ? 403 : 404
}

let server: TestServer
const headers = { 'content-type': 'application/fhir+json' }
const ask = (method: 'GET' | 'PUT' | 'DELETE', url: string, body?: Json, more: Json = {}) =>
  server.inject({ method, url, headers: { ...headers, ...more }, ...(body && { payload: JSON.stringify(body) }) })

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), gate, ...fhirPlugins],
    settings: { conformance: { update_as_create: true } },
  })
  for (const list of VERSIONS) {
    const { resourceType, id } = list[0] as Json
    for (const one of list) {
      const url = `/${resourceType}/${id}`
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
const found = async (url: string): Promise<number | readonly string[]> => {
  const answer = await ask('GET', url)
  if (answer.statusCode !== 200) return answer.statusCode
  const { entry = [], total } = answer.json() as Json
  const names = entry.map(({ fullUrl, response }: Json) =>
    [fullUrl.split('/').at(-1), response?.etag].filter((part) => part !== undefined).join(' '),
  )
  if (total !== undefined) assert.is(total, names.length, url)
  return names.sort()
}

const checkInstance = async (list: readonly (Json | null)[], first: Json): Promise<void> => {
  const { resourceType: type, id } = first
  const url = `/${type}/${id}`
  const closed = isNone('r', type)
  const visible = (at: number): boolean => {
    const one = list[at] ?? list[at - 1]
    return one !== undefined && one !== null && holds('r', one)
  }
  const last = list.length - 1
  const statusOf = (at: number): number => (closed ? 403 : !visible(at) ? 404 : list[at] === null ? 410 : 200)
  check((await ask('GET', url)).statusCode, last < 0 ? (closed ? 403 : 404) : statusOf(last), `GET ${url}`)
  for (const at of list.keys())
    check((await ask('GET', `${url}/_history/${at + 1}`)).statusCode, statusOf(at), `GET ${url}/_history/${at + 1}`)
  const open = [...list.keys()].filter(visible).map((at) => `${id} W/"${at + 1}"`)
  check(await found(`${url}/_history`), closed ? 403 : open.length === 0 ? 404 : open.sort(), `GET ${url}/_history`)
  const unmet = { 'if-match': 'W/"999"' }
  check((await ask('DELETE', url, undefined, unmet)).statusCode, changeStatus('d', list, first, false), `DELETE ${url}`)
  check((await ask('PUT', url, first, unmet)).statusCode, changeStatus('u', list, first, true), `PUT ${url}`)
}

const checkType = async (type: string): Promise<void> => {
  const lists = VERSIONS.filter((list) => list[0]?.resourceType === type)
  const current = lists.flatMap((list) => {
    const one = list.at(-1)
    return one === null || one === undefined || !holds('s', one) ? [] : [one.id as string]
  })
  const closed = isClosed('s', type)
  for (const query of ['', '?_total=accurate', '?_sort=_id'])
    check(await found(`/${type}${query}`), closed ? 403 : current.sort(), `GET /${type}${query}`)
  const past = lists.flatMap((list) =>
    list.flatMap((one, at) => {
      const decided = one ?? list[at - 1]
      return decided && holds('s', decided) ? [`${list[0]?.id} W/"${at + 1}"`] : []
    }),
  )
  check(await found(`/${type}/_history`), isNone('s', type) ? 403 : past.sort(), `GET /${type}/_history`)
}

test(`under ${RULINGS} random rulings each answer is what the grants say`, async () => {
  for (let n = 0; n < RULINGS; n += 1) {
    restrictions = Array.from({ length: 1 + random(2) }, randomRestriction)
    wrong = []
    for (const list of VERSIONS) await checkInstance(list, list[0] as Json)
    for (const one of NEVER) await checkInstance([], one)
    for (const type of TYPES) await checkType(type)
    assert.equal(wrong.slice(0, 5), [], `ruling ${n}: ${JSON.stringify(restrictions)}`)
  }
})

test('the matrix has at least three thousand cells', () => {
  assert.ok(cells >= 3_000, `${cells}`)
})

test.run()
