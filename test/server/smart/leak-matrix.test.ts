/**
 * 30 types × 6 interactions × 3 patients × 12 tokens: nothing that lies outside a token's scopes is shown, counted, changed
 * or hinted at. Changes have a precondition that fails last; creates come at the end.
 */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { sessionsInTurn } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { scopedCallers, tokenHeaders } from '../../support/scoped-callers.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'
import {
  type Json,
  type LeakOracle,
  type LeakToken,
  oracleOf,
  STORED,
  type Stored,
  TOKENS,
  TYPES,
} from './leak-data.ts'

const PARAMETERS = new RegExp(
  `^(SearchParameter-(${TYPES.join('|')}|Resource|clinical|individual|medications|conformance)-|CompartmentDefinition-patient)`,
)

/** Types of elements that searches of the tokens look into. */
const ELEMENTS = ['Element', 'Extension', 'Meta', 'Coding', 'CodeableConcept', 'Reference', 'Identifier']

let server: TestServer
const all = TOKENS[0] as LeakToken
const ask = (token: LeakToken, method: string, url: string, body?: Json, more: Record<string, string> = {}) =>
  server.inject({
    method: method as 'GET',
    url,
    headers: { 'content-type': 'application/fhir+json', ...tokenHeaders(token), ...more },
    ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
  })

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions([...TYPES, ...ELEMENTS, 'Bundle'], PARAMETERS), scopedCallers, ...fhirPlugins],
    settings: { conformance: { update_as_create: true }, cluster: { db_pool: sessionsInTurn() } },
  })
  for (const at of [0, 1] as const) {
    const entry = STORED.map(({ type, id, versions }) => ({
      resource: versions[at],
      request: { method: 'PUT', url: `${type}/${id}` },
    }))
    const answer = await ask(all, 'POST', '/', { resourceType: 'Bundle', type: 'transaction', entry })
    assert.is(answer.statusCode, 200, answer.body)
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

type Answer = Awaited<ReturnType<typeof ask>>
const saidOf = ({ statusCode, body, headers: { etag, location, ...told } }: Answer, id: string): string =>
  [statusCode, etag, told['last-modified'], location, body.replaceAll(id, 'ID')].join(' ')
const saidOfNever = new Map<string, string>()
/** Of a resource that may not be seen nothing differs from one that never was. */
const checkHidden = async (token: LeakToken, method: string, url: string, answer: Answer): Promise<void> => {
  if (answer.statusCode !== 404) return
  const [, type = '', id = '', ...rest] = url.split('/')
  const never = ['', type, 'never', ...rest].join('/')
  const key = [token.scope, method, never].join(' ')
  const headers: Record<string, string> = method === 'GET' ? {} : UNMET
  const said = saidOfNever.get(key) ?? saidOf(await ask(token, method, never, undefined, headers), 'never')
  saidOfNever.set(key, said)
  check(saidOf(answer, id), said, `${method} ${url}, as one that never was`)
}

const readStatus = (may: LeakOracle, type: string, one: Json): number =>
  may.isNone('r', type) ? 403 : may.holds('r', one) ? 200 : 404
const changeStatus = (may: LeakOracle, right: string, now: Json, sent?: Json): number => {
  if (may.isNone(right, now.resourceType)) return 403
  if (sent !== undefined && !may.holds(right, sent)) return 403
  return may.holds(right, now) ? 412 : may.sees(now) ? 403 : 404
}

const UNMET = { 'if-match': 'W/"999"' }

const checkInstance = async (token: LeakToken, may: LeakOracle, stored: Stored): Promise<void> => {
  const { type, id, versions } = stored
  const [before, now] = versions
  const url = `/${type}/${id}`
  const read = await ask(token, 'GET', url)
  check(read.statusCode, readStatus(may, type, now), `GET ${url}`)
  await checkHidden(token, 'GET', url, read)
  const past = await ask(token, 'GET', `${url}/_history/1`)
  check(past.statusCode, readStatus(may, type, before), `GET ${url}/_history/1`)
  await checkHidden(token, 'GET', `${url}/_history/1`, past)
  const found = await ask(token, 'GET', `/${type}?_id=${id}&_total=accurate`)
  const { total, entry = [] } = found.json() as Json
  const shown = found.statusCode === 200 ? [total, ...entry.map(({ resource }: Json) => resource.id)] : found.statusCode
  const matches = may.isClosed('s', type) ? 403 : may.holds('s', now) ? [1, id] : [0]
  check(shown, matches, `GET /${type}?_id=${id}`)
  // What it was before would move it to another patient.
  const updated = await ask(token, 'PUT', url, before, UNMET)
  check(updated.statusCode, changeStatus(may, 'u', now, before), `PUT ${url}`)
  const deleted = await ask(token, 'DELETE', url, undefined, UNMET)
  check(deleted.statusCode, changeStatus(may, 'd', now), `DELETE ${url}`)
  await checkHidden(token, 'DELETE', url, deleted)
  // No refusal names a patient or a label.
  for (const { statusCode, body } of [read, past, found, updated, deleted])
    if (statusCode >= 400 && /Patient\/p|even|odd/.test(body.replaceAll(`${type}/${id}`, '')))
      wrong.push(`${url}: ${body}`)
}

const checkType = async (token: LeakToken, may: LeakOracle, type: string): Promise<void> => {
  const open = STORED.filter((one) => one.type === type && may.holds('s', one.versions[1])).map(({ id }) => id)
  const wanted = may.isClosed('s', type) ? 403 : open.length
  for (const url of [`/${type}?_summary=count`, `/${type}?_count=1&_total=accurate`, `/${type}?_sort=_lastUpdated`]) {
    const { statusCode, body } = await ask(token, 'GET', url)
    const { total, entry = [] } = JSON.parse(body) as Json
    check(statusCode === 200 ? (total ?? entry.length) : statusCode, wanted, `GET ${url}`)
  }
}

for (const [n, token] of TOKENS.entries()) {
  const may = oracleOf(token)
  test(`${n + 1}: ${token.scope} shows what it opens, and hints at nothing else`, async () => {
    wrong = []
    // Those of a type at once: a database of another process takes longer to answer than this takes to ask.
    for (let at = 0; at < STORED.length; at += 3)
      await Promise.all(STORED.slice(at, at + 3).map((stored) => checkInstance(token, may, stored)))
    await Promise.all(TYPES.map((type) => checkType(token, may, type)))
    assert.equal(wrong.slice(0, 8), [], `${wrong.length} wrong`)
  })
}

test('each token creates what it opens, and nothing else', async () => {
  wrong = []
  for (const token of TOKENS) {
    const may = oracleOf(token)
    const create = async ({ type, versions }: Stored): Promise<void> => {
      const { id: _id, ...sent } = versions[1]
      // A new Patient has an id of its own, so it is in no compartment that is there.
      const expected = type === 'Patient' ? { ...versions[1], id: 'new' } : versions[1]
      const status = may.isNone('c', type) || !may.holds('c', expected) ? 403 : 201
      check((await ask(token, 'POST', `/${type}`, sent)).statusCode, status, `${token.scope}: POST /${type}`)
    }
    await Promise.all(STORED.map(create))
  }
  assert.equal(wrong.slice(0, 8), [], `${wrong.length} wrong`)
})

test('the matrix has a cell for each type, interaction, patient and token', () => {
  assert.ok(cells >= 30 * 6 * 3 * 12, `${cells}`)
})

test.run()
