/** A primary and a replica on one PostgreSQL, over HTTP: what goes to the primary, and what each of them counts and tells. */
// database: postgres, the one kind that several processes share
import { createSecretKey } from 'node:crypto'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, definePlugin } from '../../../kernel/index.ts'
import audit from '../../../plugins/audit/index.ts'
import cluster from '../../../plugins/cluster/index.ts'
import { makeMark } from '../../../plugins/cluster/relay/relay-mark.ts'
import { setUpRelay } from '../../../plugins/cluster/relay/set-up-relay.ts'
import consolePlugin from '../../../plugins/console/index.ts'
import limits from '../../../plugins/limits/index.ts'
import metering from '../../../plugins/metering/index.ts'
import requestLog from '../../../plugins/request-log/index.ts'
import { Searches } from '../../../plugins/search/service.ts'
import smart from '../../../plugins/smart/index.ts'
import { type FreshDatabase, postgresKind } from '../../support/database-kinds.ts'
import { basic, type TestServer } from '../../support/server-with.ts'
import { BUILT_IN_BASIC, registerService, type Service, smartServer, tokenOf } from '../../support/smart-server.ts'
import { until } from '../../support/until.ts'

type Json = Record<string, any>

/** Tests set the role itself: what a replica may write is decided elsewhere. */
const replicaOf = (primaryUrl: string): AnyPlugin =>
  definePlugin({
    name: 'cluster',
    setup({ hooks, clock, random, later }) {
      const searches = later(Searches)
      const keyFor = (purpose: string) => searches().opened.search.registry.keyFor(purpose)
      return setUpRelay({ hooks, clock, random, primaryUrl, keyFor, source: undefined })
    },
  })

const plugins: readonly AnyPlugin[] = [...basic, limits, smart, metering, requestLog, consolePlugin, audit]
const settings = {
  audit: { key: 'a key of the chain for tests' },
  console: { enabled: true },
  quota: { requests_per_day: 1000, writes_per_day: 1000, bytes_per_day: 10_000_000 },
  rate_limit: { requests_per_second: 1000, burst: 1000 },
  request_log: { store: true },
}
let fresh: FreshDatabase
let primary: TestServer
let replica: TestServer
let at: { readonly primary: string; readonly replica: string }
let service: Service
let token: string

test.before(async () => {
  fresh = await postgresKind.fresh(plugins)
  const open = async (own: AnyPlugin) => {
    const server = await smartServer({
      together: true,
      plugins: [...plugins, own],
      settings: { ...settings, ...fresh.settings },
    })
    return { server, address: await server.listen() }
  }
  const first = await open(cluster)
  primary = first.server
  service = await registerService(primary)
  token = await tokenOf(primary, service)
  const second = await open(replicaOf(first.address))
  replica = second.server
  at = { primary: first.address, replica: second.address }
})
test.after(async () => {
  await replica?.stop()
  await primary?.stop()
  await fresh?.remove()
})

let asked = 0
const ask = async (method: string, path: string, body?: Json | string, more: Record<string, string> = {}) => {
  asked += 1
  const id = `relay-test-${asked}`
  const answer = await fetch(at.replica + path, {
    method,
    redirect: 'manual',
    headers: {
      'x-request-id': id,
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/fhir+json' }),
      ...more,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await answer.text()
  const json = (): Json => JSON.parse(text) as Json
  return { id, status: answer.status, headers: answer.headers, text, json }
}
const lineOf = (server: TestServer, id: string) =>
  server.lines.filter(({ plugin, request }) => plugin === 'request-log' && request === id)
/** Both servers' lines of a request, once they are there: how each of them had a part in it. */
const wayOf = async (id: string) => {
  await until(() => lineOf(replica, id).length > 0, 10_000, `the line of ${id}`)
  const [own] = lineOf(replica, id)
  if (own!.relayed !== undefined) await until(() => lineOf(primary, id).length > 0, 10_000, `the other line of ${id}`)
  return [own!.relayed, ...lineOf(primary, id).map(({ relayed }) => relayed)]
}
const SENT = ['sent', 'received']
const STAYED = [undefined]
const patient = (family: string, id?: string): Json => ({
  resourceType: 'Patient',
  ...(id !== undefined && { id }),
  name: [{ family }],
})

test('changes are made by the primary, and reads by the replica, which sees them at once', async () => {
  const made = await ask('POST', '/Patient', patient('one'))
  assert.is(made.status, 201, made.text)
  const { id } = made.json()
  assert.match(made.headers.get('location') ?? '', new RegExp(`/Patient/${id}/_history/1$`))
  assert.is(made.headers.get('x-request-id'), made.id)
  assert.equal(await wayOf(made.id), SENT)
  const path = `/Patient/${id}`
  const read = await ask('GET', path)
  assert.equal([read.status, read.headers.get('etag')], [200, 'W/"1"'])
  assert.equal(await wayOf(read.id), STAYED)
  for (const [method, url, body, more, status, way] of [
    ['PUT', path, patient('two', id), { 'if-match': 'W/"1"' }, 200, SENT],
    ['PUT', path, patient('three', id), { 'if-match': 'W/"1"' }, 412, SENT],
    [
      'PATCH',
      path,
      '[{"op":"add","path":"/active","value":true}]',
      { 'content-type': 'application/json-patch+json' },
      200,
      SENT,
    ],
    ['POST', '/Patient', patient('x'), { 'if-none-exist': `_id=${id}` }, 200, SENT],
    [
      'POST',
      '/',
      {
        resourceType: 'Bundle',
        type: 'transaction',
        entry: [{ request: { method: 'POST', url: 'Patient' }, resource: patient('four') }],
      },
      {},
      200,
      SENT,
    ],
    [
      'POST',
      `${path}/$meta-add`,
      { resourceType: 'Parameters', parameter: [{ name: 'meta', valueMeta: { tag: [{ code: 't' }] } }] },
      {},
      200,
      SENT,
    ],
    ['GET', path, undefined, { 'if-none-match': 'W/"4"' }, 304, STAYED],
    ['GET', `/Patient?_id=${id}`, undefined, {}, 200, STAYED],
    ['POST', '/Patient/_search', `_id=${id}`, { 'content-type': 'application/x-www-form-urlencoded' }, 200, STAYED],
    ['POST', `${path}/$meta`, { resourceType: 'Parameters' }, {}, 200, STAYED],
    ['GET', '/metadata', undefined, {}, 200, STAYED],
    ['HEAD', path, undefined, {}, 200, STAYED],
    ['DELETE', path, undefined, {}, 204, SENT],
    ['GET', path, undefined, {}, 410, STAYED],
    ['PUT', '/metadata', undefined, {}, 405, STAYED],
    ['POST', '/Nothing', { resourceType: 'Nothing' }, {}, 404, SENT],
  ] as const) {
    const answer = await ask(method, url, body, more)
    assert.is(answer.status, status, `${method} ${url} ${answer.text}`)
    assert.equal(await wayOf(answer.id), way, `${method} ${url}`)
  }
})

test('a packed body is unpacked by the primary, and one that is not JSON is its refusal', async () => {
  const { gzipSync } = await import('node:zlib')
  const answer = await fetch(`${at.replica}/Patient`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/fhir+json',
      'content-encoding': 'gzip',
    },
    body: gzipSync(JSON.stringify(patient('packed'))),
  })
  assert.is(answer.status, 201, await answer.text())
  assert.is((await ask('POST', '/Patient', '{"not":json')).status, 400)
})

test('each thing is counted once: the trail, the row, the use and the quota', async () => {
  const writes = async (): Promise<number> => {
    const { usage } = (await ask('GET', '/_usage?class=write')).json()
    return (usage as Json[]).reduce((sum, { requests }) => sum + Number(requests), 0)
  }
  const before = await writes()
  const made = await ask('POST', '/Patient', patient('counted'))
  assert.is(made.status, 201)
  assert.is((await writes()) - before, 1)
  const rows = (await ask('GET', `/_requests?request=${made.id}`)).json().requests as Json[]
  assert.equal(
    rows.map(({ status, class: kind, client }) => [status, kind, client]),
    [[201, 'write', service.id]],
  )
  const events = await ask('GET', `/_audit?entity=Patient/${made.json().id}`)
  assert.is(events.status, 200, events.text)
  const [event, ...others] = (events.json().entry as Json[]).map(({ resource }) => resource)
  assert.equal(others, [])
  const agent = (event.agent as Json[]).find(({ requestor }) => requestor)
  assert.is(agent?.network.address, '127.0.0.1')
})

test('a refusal of the primary is told once, and one of the replica by the replica', async () => {
  const eventsOf = async (id: string) => {
    const all = (await ask('GET', '/_audit?outcome=4&_count=50')).json().entry as Json[] | undefined
    return (all ?? []).filter(({ resource }) => JSON.stringify(resource).includes(id))
  }
  const stale = await ask('PUT', '/Patient/never', patient('x', 'never'), { 'if-match': 'W/"9"' })
  assert.ok(stale.status >= 400 && stale.status < 500, stale.text)
  assert.is((await eventsOf(stale.id)).length, 1)
  const unknown = await ask('POST', '/Patient', patient('x'), { authorization: '' })
  assert.is(unknown.status, 401)
  assert.equal(await wayOf(unknown.id), STAYED)
  assert.is((await eventsOf(unknown.id)).length, 1)
})

test('what shows the use of the server is shown by the primary, with what waited at the replica', async () => {
  for (const path of ['/_usage', '/_requests', '/_audit', '/AuditEvent', '/_audit/verify']) {
    const answer = await ask('GET', path)
    assert.is(answer.status, 200, answer.text)
    assert.equal(await wayOf(answer.id), SENT, path)
  }
  const read = await ask('GET', '/Patient?name=somebody')
  await until(() => lineOf(replica, read.id).length > 0, 10_000, 'the end of the request')
  assert.is(((await ask('GET', `/_requests?request=${read.id}`)).json().requests as Json[]).length, 1)
})

test('pages of the console go where their addresses go; what concerns this server stays', async () => {
  for (const [path, way] of [
    ['audit', SENT],
    ['usage', SENT],
    ['slow', SENT],
    ['jobs', STAYED],
    ['', STAYED],
  ] as const) {
    const answer = await ask('GET', path === '' ? '/_console' : `/_console/${path}`)
    assert.is(answer.status, 200, answer.text)
    assert.match(answer.text, /<ul class="tabs">/)
    assert.equal(await wayOf(answer.id), way, path)
  }
})

test('tokens, clients and keys come from the primary; a redirect and cookies come back as they are', async () => {
  const keys = await ask('GET', '/oauth/jwks')
  assert.is(keys.status, 200)
  assert.equal(await wayOf(keys.id), SENT)
  const introspected = await ask('POST', '/oauth/introspect', `token=${encodeURIComponent(token)}`, {
    'content-type': 'application/x-www-form-urlencoded',
    authorization: BUILT_IN_BASIC,
  })
  assert.is(introspected.status, 200, introspected.text)
  assert.is(introspected.json().active, true)
  assert.equal(await wayOf(introspected.id), SENT)
  const own = await ask('GET', '/.well-known/smart-configuration')
  assert.equal(await wayOf(own.id), STAYED)
})

test('the primary asks for a token itself, also of what a replica let pass; and nobody else is a replica', async () => {
  const key = createSecretKey(primary.get(Searches).opened.search.registry.keyFor('relay'))
  const send = async (mark: string, more: Record<string, string> = {}) => {
    const headers = { 'content-type': 'application/fhir+json', 'x-request-id': 'by-hand', 'x-relay': mark, ...more }
    const body = JSON.stringify(patient('by hand'))
    return (await fetch(`${at.primary}/Patient`, { method: 'POST', headers, body })).status
  }
  const relayed = { server: 's1', at: Date.now(), address: '192.0.2.1' }
  const mark = makeMark(key, relayed, { method: 'POST', url: '/Patient', id: 'by-hand' })
  const bearer = { authorization: `Bearer ${token}` }
  assert.is(await send(mark), 401)
  assert.is(await send(mark, { authorization: 'Bearer nobody' }), 401)
  assert.is(await send(mark, bearer), 201)
  assert.is(await send(`${mark.slice(0, -1)}${mark.endsWith('A') ? 'B' : 'A'}`, bearer), 400)
})

test('without the primary reads go on, changes are 503, and OAuth says it in its own words', async () => {
  await primary.stop()
  assert.is((await ask('GET', '/Patient?_count=1')).status, 200)
  const refused = await ask('POST', '/Patient', patient('late'))
  assert.equal([refused.status, refused.headers.get('retry-after')], [503, '2'])
  assert.is(refused.json().resourceType, 'OperationOutcome')
  const oauth = await ask('POST', '/oauth/token', 'grant_type=client_credentials', {
    'content-type': 'application/x-www-form-urlencoded',
  })
  assert.equal([oauth.status, oauth.headers.get('retry-after')], [503, '2'])
  assert.type(oauth.json().error, 'string')
})

test.run()
