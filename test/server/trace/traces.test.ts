/** Traces: what the server did for a request, for callers who may see everything, and without anything that was sent or stored. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { AnyPlugin } from '../../../kernel/index.ts'
import audit from '../../../plugins/audit/index.ts'
import database from '../../../plugins/database/index.ts'
import references from '../../../plugins/references/index.ts'
import requestLog from '../../../plugins/request-log/index.ts'
import terminology from '../../../plugins/terminology/index.ts'
import trace from '../../../plugins/trace/index.ts'
import validation from '../../../plugins/validation/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { scopedCallers, type TestToken, tokenHeaders } from '../../support/scoped-callers.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'
import { until } from '../../support/until.ts'

type Json = Record<string, any>

const SECRET = 'zwetschgenknoedel'
const ALL: TestToken = { scope: 'system/*.cruds' }
const pluginsWith = (definitions: AnyPlugin): readonly AnyPlugin[] => [
  ...[trace, database, definitions, validation],
  ...fhirPlugins,
  ...[references, terminology, scopedCallers, requestLog, audit],
]
const settings = (isOn: boolean): Json => ({
  features: { trace_engine: isOn },
  conformance: { update_as_create: true },
  server: { bind: '127.0.0.1:0' },
})

let server: TestServer
const ask = async (method: string, url: string, { body, token = ALL, headers = {} }: Json = {}) => {
  const answer = await server.inject({
    method: method as 'GET',
    url,
    headers: { ...(body && { 'content-type': 'application/fhir+json' }), ...tokenHeaders(token), ...headers },
    ...(body && { payload: JSON.stringify(body) }),
  })
  return {
    status: answer.statusCode,
    headers: answer.headers as Json,
    text: answer.body,
    json: () => answer.json() as Json,
  }
}
/** Asks with `X-Trace: 1`, and gives the trace once the request is over. */
const traced = async (method: string, url: string, more: Json = {}) => {
  const answer = await ask(method, url, { ...more, headers: { 'x-trace': '1', ...more.headers } })
  const id = answer.headers['x-trace-id']
  assert.type(id, 'string', answer.text)
  let found: Json = {}
  await until(
    async () => {
      const { status, text, json } = await ask('GET', `/_trace/${id}`)
      assert.is(status, 200, text)
      found = json()
      return found.finished
    },
    5_000,
    'the request to be over',
  )
  return { answer, trace: found, text: JSON.stringify(found) }
}
const kindsOf = ({ steps }: Json): readonly string[] => [...new Set<string>(steps.map(({ kind }: Json) => kind))]
const steps = ({ steps: all }: Json, kind: string): readonly Json[] => all.filter((one: Json) => one.kind === kind)

const patient = (id: string): Json => ({
  resourceType: 'Patient',
  id,
  name: [{ family: SECRET }],
  identifier: [{ system: 'http://i', value: SECRET }],
  gender: 'female',
})

test.before(async () => {
  server = await serverWith({ plugins: pluginsWith(stubDefinitions('all')), settings: settings(true) })
})
test.after(() => server.stop())

test('a change: taps, the ruling, validation, the transaction and its statements, with their times', async () => {
  const { answer, trace: found } = await traced('PUT', '/Patient/p', { body: patient('p') })
  assert.is(answer.status, 201)
  assert.equal([found.method, found.route, found.class, found.status], ['PUT', '/:type/:id', 'write', 201])
  assert.is(found.client, 'app')
  for (const kind of ['tap', 'ruling', 'validation', 'transaction', 'statement'])
    assert.ok(kindsOf(found).includes(kind), `${kind} of ${kindsOf(found)}`)
  const hooks = new Set(steps(found, 'tap').map(({ hook }) => hook))
  for (const hook of ['authenticate', 'authorize', 'onAudit']) assert.ok(hooks.has(hook), `${hook} of ${[...hooks]}`)
  const ruling = steps(found, 'ruling').at(-1)
  assert.equal([ruling?.interaction, ruling?.type], ['update', 'Patient'])
  assert.equal(steps(found, 'validation')[0]?.type, 'Patient')
  for (const { kind, at, ms } of found.steps) {
    assert.type(at, 'number', kind)
    assert.type(ms, 'number', kind)
    assert.ok(at >= 0 && ms >= 0 && at + ms <= found.ms + 1_000, kind)
  }
})

test('a search: its plan and its statements', async () => {
  const { answer, trace: found } = await traced('GET', `/Patient?family:contains=${SECRET}&_sort=-_lastUpdated`)
  assert.is(answer.json().entry.length, 1)
  const [plan] = steps(found, 'plan')
  assert.equal([plan?.type, plan?.sort], ['Patient', ['_lastUpdated']])
  assert.equal(
    plan?.clauses.map(({ parameter }: Json) => parameter),
    ['family:contains'],
  )
  const statements = steps(found, 'statement')
  assert.ok(statements.some(({ sql }) => /SELECT .* FROM/.test(sql)))
  assert.ok(statements.some(({ rows }) => rows === 1))
})

test('terminology: a value set of a search', async () => {
  const valueSet = {
    resourceType: 'ValueSet',
    id: 'vs',
    url: 'http://v/s',
    status: 'active',
    compose: { include: [{ system: 'http://hl7.org/fhir/administrative-gender', concept: [{ code: 'female' }] }] },
  }
  assert.is((await ask('PUT', '/ValueSet/vs', { body: valueSet })).status, 201)
  const { answer, trace: found } = await traced('GET', '/Patient?gender:in=http://v/s')
  assert.is(answer.status, 200, answer.text)
  assert.equal(
    steps(found, 'terminology').map(({ step, codes }) => [step, codes]),
    [['expand', 1]],
  )
})

test('a Bundle: a ruling for each entry', async () => {
  const entry = ['a', 'b'].map((id) => ({ resource: patient(id), request: { method: 'PUT', url: `Patient/${id}` } }))
  const { trace: found } = await traced('POST', '/', { body: { resourceType: 'Bundle', type: 'transaction', entry } })
  assert.equal(
    steps(found, 'ruling').map(({ interaction, entry: at }) => [interaction, at]),
    [
      ['admin', undefined],
      ['transaction', undefined],
      ['update', 0],
      ['update', 1],
    ],
  )
})

test('a refusal is traced by the name of its error', async () => {
  const {
    answer,
    trace: found,
    text,
  } = await traced('POST', '/Patient', { body: { ...patient('x'), nonsense: SECRET } })
  assert.is(answer.status, 400)
  assert.is(steps(found, 'validation')[0]?.failed === undefined, false)
  assert.not(text.includes(SECRET))
})

test('nothing that was sent, found or stored is in a trace', async () => {
  const token = { ...ALL, scope: 'system/*.cruds' }
  const asked: readonly (readonly [string, string, Json?])[] = [
    ['PUT', `/Patient/${SECRET}`, { body: patient(SECRET) }],
    ['GET', `/Patient/${SECRET}`],
    ['GET', `/Patient/${SECRET}/_history/1`],
    ['GET', `/Patient?family=${SECRET}`],
    ['GET', `/Patient?family:exact=${SECRET}&_sort=family&_total=accurate&_revinclude=*`],
    ['GET', `/Patient?identifier=http://i|${SECRET}`],
    ['GET', `/Patient?_filter=family eq ${SECRET}`],
    ['GET', `/Patient?_content=${SECRET}`],
    ['GET', `/Patient?_has:Observation:patient:code=${SECRET}`],
    ['GET', `/Observation?subject:Patient.family=${SECRET}&date=ge2024-01-01`],
    ['GET', `/Observation?value-quantity=918273645&_list=${SECRET}`],
    ['GET', `/${SECRET}?x=${SECRET}`],
    [
      'POST',
      '/',
      {
        body: {
          resourceType: 'Bundle',
          type: 'batch',
          entry: [{ request: { method: 'GET', url: `Patient?family=${SECRET}` } }],
        },
      },
    ],
    ['GET', `/Patient/$${SECRET}`],
    ['POST', `/${SECRET}/$${SECRET}`, { body: patient('o') }],
    ['POST', '/Patient/$validate', { body: patient('v') }],
    ['POST', '/Patient', { body: patient('c'), headers: { 'if-none-exist': `identifier=${SECRET}` } }],
    [
      'PATCH',
      `/Patient/${SECRET}`,
      {
        body: [{ op: 'add', path: '/language', value: SECRET }],
        headers: { 'content-type': 'application/json-patch+json' },
      },
    ],
    ['DELETE', `/Patient/${SECRET}`],
  ]
  for (const [method, url, more] of asked) {
    const { text } = await traced(method, encodeURI(url), {
      ...more,
      token,
      headers: { authorization: `Bearer ${SECRET}`, ...more?.headers },
    })
    for (const word of [SECRET, '918273645', '2024-01-01', 'Bearer'])
      assert.not(text.includes(word), `${url} has ${word}`)
  }
})

test('who may not see everything gets neither a trace nor to one', async () => {
  const { trace: found } = await traced('GET', '/Patient/p')
  for (const token of [
    { scope: 'system/Patient.rs' },
    { scope: 'system/*.r' },
    { scope: 'system/*.rs?_tag=x' },
    { scope: 'user/*.cruds', user: 'Practitioner/x' },
    { scope: 'patient/*.cruds', patient: 'p' },
  ] as TestToken[]) {
    const asked = await ask('GET', '/Patient/p', { token, headers: { 'x-trace': '1' } })
    assert.is(asked.status, 403, JSON.stringify(token))
    assert.is(asked.headers['x-trace-id'], undefined)
    assert.is((await ask('GET', `/_trace/${found.id}`, { token })).status, 403, JSON.stringify(token))
  }
})

test('other values of the header, unknown traces and parameters are refused', async () => {
  assert.is((await ask('GET', '/Patient/p', { headers: { 'x-trace': 'yes' } })).status, 400)
  assert.is((await ask('GET', '/_trace/nothing')).status, 404)
  const { trace: found } = await traced('GET', '/Patient/p')
  assert.is((await ask('GET', `/_trace/${found.id}?x=1`)).status, 400)
  assert.is((await ask('DELETE', `/_trace/${found.id}`)).status, 405)
})

test('the last 64 are kept', async () => {
  const { trace: first } = await traced('GET', '/Patient/p')
  for (let n = 0; n < 63; n += 1) await ask('GET', '/Patient/p', { headers: { 'x-trace': '1' } })
  assert.is((await ask('GET', `/_trace/${first.id}`)).status, 200)
  await ask('GET', '/Patient/p', { headers: { 'x-trace': '1' } })
  assert.is((await ask('GET', `/_trace/${first.id}`)).status, 404)
})

test('of a long request what goes beyond 128 kB is counted', async () => {
  const entry = Array.from({ length: 200 }, (_, n) => ({
    resource: patient(`n${n}`),
    request: { method: 'PUT', url: `Patient/n${n}` },
  }))
  const {
    answer,
    trace: found,
    text,
  } = await traced('POST', '/', {
    body: { resourceType: 'Bundle', type: 'batch', entry },
  })
  assert.is(answer.status, 200)
  assert.ok(found.dropped > 0)
  assert.ok(text.length < 200 * 1024, `${text.length}`)
})

test('requests at the same time do not see steps of each other', async () => {
  const write = (n: number, isTraced: boolean) =>
    ask('PUT', `/${n % 2 === 0 ? 'Patient' : 'Practitioner'}/s${n}`, {
      body: { resourceType: n % 2 === 0 ? 'Patient' : 'Practitioner', id: `s${n}` },
      ...(isTraced && { headers: { 'x-trace': '1' } }),
    })
  const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => write(n, n === 17 || n === 20)))
  assert.ok(answers.every(({ status }) => status === 201))
  for (const [n, type] of [
    [17, 'Practitioner'],
    [20, 'Patient'],
  ] as const) {
    const found = (await ask('GET', `/_trace/${answers[n]?.headers['x-trace-id']}`)).json()
    assert.equal(
      steps(found, 'ruling')
        .filter(({ interaction }) => interaction !== 'admin')
        .map(({ interaction, type: of }) => `${interaction} ${of}`),
      [`update ${type}`],
    )
    assert.equal(
      steps(found, 'validation').map((one) => one.type),
      [type],
    )
    assert.is(steps(found, 'transaction').length, 1)
    // One event of the trail, though others were written with the same COMMIT.
    assert.is(steps(found, 'tap').filter(({ hook, plugin }) => hook === 'onAudit' && plugin === 'audit').length, 1)
  }
})

test('over a connection that is used again, only the request that asked is traced', async () => {
  const address = await server.listen()
  const { Agent, request } = await import('undici')
  const dispatcher = new Agent({ connections: 1 })
  const get = async (headers: Json) => {
    const answer = await request(`${address}/Patient?family=x&_sort=family`, {
      dispatcher,
      headers: { ...tokenHeaders(ALL), ...headers },
    })
    await answer.body.dump()
    return answer
  }
  const first = await get({ 'x-trace': '1' })
  const id = String(first.headers['x-trace-id'])
  const count = async () => (await ask('GET', `/_trace/${id}`)).json().steps.length
  await until(async () => (await ask('GET', `/_trace/${id}`)).json().finished, 5_000, 'the request to be over')
  const before = await count()
  assert.ok(before > 3)
  const second = await get({})
  assert.is(second.headers['x-trace-id'], undefined)
  assert.is(await count(), before)
  await dispatcher.close()
})

test('without the setting the header means nothing, and there is no address', async () => {
  const off = await serverWith({ plugins: pluginsWith(stubDefinitions()), settings: settings(false) })
  const answer = await off.inject({ url: '/Patient', headers: { 'x-trace': '1', ...tokenHeaders(ALL) } })
  assert.is(answer.statusCode, 200)
  assert.is(answer.headers['x-trace-id'], undefined)
  assert.is((await off.inject({ url: '/_trace/x', headers: tokenHeaders(ALL) })).statusCode, 404)
  await off.stop()
})

test.run()
