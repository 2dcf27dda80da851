/** What shows the use of the server is for those who may read the trail, is told to it, and shows nothing a client wrote. */
// database: memory, because what is stored is looked at in all its tables
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, type AuditFact, defineError, definePlugin, type Interaction } from '../../kernel/index.ts'
import { Database, sql } from '../../plugins/database/service.ts'
import limits from '../../plugins/limits/index.ts'
import metering from '../../plugins/metering/index.ts'
import metrics from '../../plugins/metrics/index.ts'
import requestLog from '../../plugins/request-log/index.ts'
import { named } from '../support/named-callers.ts'
import { assertRefused } from '../support/refused.ts'
import { onlyTypes } from '../support/restrictions.ts'
import { basic, serverWith, type TestServer } from '../support/server-with.ts'

const FHIR = { 'content-type': 'application/fhir+json' }
const SETTINGS = { metrics: { enabled: true }, request_log: { store: true, refused_per_second: 0 } }
const WATCHING: readonly AnyPlugin[] = [metering, requestLog, metrics]
const PATHS = ['/_usage', '/_requests', '/metrics'] as const

const Forbidden = defineError('scopes/missing', 403, 'forbidden', 'The scope system/AuditEvent.read is missing.')

interface Watch {
  readonly asked: Interaction[]
  readonly told: AuditFact[]
  /** What becomes of the next interaction. */
  rule: 'allow' | 'refuse' | 'restrict'
  trailFails: boolean
}

/** Rules on interactions as told, and keeps what the trail is told. */
const ruling = (): { readonly plugin: AnyPlugin; readonly watch: Watch } => {
  const watch: Watch = { asked: [], told: [], rule: 'allow', trailFails: false }
  const plugin = definePlugin({
    name: 'ruling',
    setup({ hooks }) {
      hooks.authorize.tap('as told', (_request, interaction, decision) => {
        watch.asked.push(interaction)
        if (watch.rule === 'refuse') decision.refuse(Forbidden())
        if (watch.rule === 'restrict') decision.restrict(onlyTypes('Patient'))
      })
      hooks.onAudit.tap('keep', (fact) => {
        if (watch.trailFails && fact.status === 200) throw new Error('planted')
        watch.told.push(fact)
      })
    },
  })
  return { plugin, watch }
}

const withRuling = async (work: (server: TestServer, watch: Watch) => Promise<void>): Promise<void> => {
  const { plugin, watch } = ruling()
  const server = await serverWith({ plugins: [...basic, plugin, ...WATCHING], settings: SETTINGS })
  try {
    await work(server, watch)
  } finally {
    await server.stop()
  }
}

for (const path of PATHS) {
  const interaction = { kind: 'admin', type: 'AuditEvent', operation: path.slice(1) }

  test(`${path} is ruled on as an admin interaction and told to the trail`, () =>
    withRuling(async (server, watch) => {
      assert.is((await server.inject(path)).statusCode, 200)
      assert.equal(watch.asked, [interaction])
      const facts = watch.told.map(({ interaction: of, status }) => ({ of, status }))
      // Figures are looked at every few seconds, and concern nobody.
      assert.equal(facts, path === '/metrics' ? [] : [{ of: interaction, status: 200 }])
    }))

  test(`${path} shows nothing to a caller who is refused, or may see a part of the data only, and the trail is told`, () =>
    withRuling(async (server, watch) => {
      for (const rule of ['refuse', 'restrict'] as const) {
        watch.rule = rule
        assertRefused(await server.inject(path), { status: 403, code: 'forbidden' }, rule)
        assert.is(watch.told.at(-1)?.status, 403)
        assert.equal(watch.told.at(-1)?.interaction, interaction)
      }
    }))

  test(`${path} answers a wrong question after it was ruled on`, () =>
    withRuling(async (server, watch) => {
      assertRefused(await server.inject(`${path}?nothing=1`), { status: 400, code: 'not-supported' }, path)
      assert.is(watch.told.at(-1)?.status, 400)
      watch.rule = 'refuse'
      assert.is((await server.inject(`${path}?nothing=1`)).statusCode, 403)
    }))

  test(`${path} is out of reach of a Bundle`, () =>
    withRuling(async (server) => {
      for (const type of ['batch', 'transaction']) {
        const entry = [{ request: { method: 'GET', url: path.slice(1) } }]
        const payload = { resourceType: 'Bundle', type, entry }
        const { statusCode, body } = await server.inject({ method: 'POST', url: '/', headers: FHIR, payload })
        assert.not.match(body, /bytes_in|http_requests_total/)
        if (type === 'transaction') assert.ok(statusCode >= 400 && statusCode < 500, body)
        else assert.match(body, /"status":"4\d\d/)
      }
    }))

  test(`${path} takes no other method`, () =>
    withRuling(async (server) => {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const) {
        const answer = await server.inject({ method, url: path, headers: FHIR, payload: '{}' })
        assertRefused(answer, { status: 405, code: 'not-supported' }, `${method} ${path}`)
        assert.is(answer.headers.allow, 'GET, HEAD')
      }
      assert.is((await server.inject({ method: 'HEAD', url: path })).statusCode, 200)
    }))
}

test('an answer that cannot be told to the trail is not given', () =>
  withRuling(async (server, watch) => {
    watch.trailFails = true
    for (const path of ['/_usage', '/_requests']) assert.is((await server.inject(path)).statusCode, 500)
  }))

/** Where a client can write something that must stay between it and the resource. */
const MARK = 'canary-7f3a9'
const SECRETS = {
  authorization: `Bearer ${MARK}-bearer-0123456789`,
  cookie: `session=${MARK}-cookie`,
  'user-agent': `${MARK}-agent`,
  referer: `https://a.test/${MARK}-referer`,
  'x-api-key': `${MARK}-key`,
  'x-forwarded-for': `${MARK}-forwarded`,
  'x-request-id': `${MARK} not well-formed`,
  'if-none-exist': `identifier=${MARK}-none-exist`,
  'if-match': `W/"${MARK}-match"`,
  accept: `application/fhir+json, application/${MARK}-accept`,
  prefer: `${MARK}-prefer`,
}

test('nothing a client wrote is in a log line, in what is shown, or in a table but those of resources', async () => {
  const plugins = [...basic, named, limits, ...WATCHING]
  const settings = {
    ...SETTINGS,
    database: { kind: 'memory' },
    quota: { writes_per_day: 1000 },
    rate_limit: { requests_per_second: 1000, burst: 1000, servers: 1 },
  }
  const server = await serverWith({ plugins, settings })
  const { accept: _accept, 'if-none-exist': _none, 'if-match': _match, ...plain } = SECRETS
  const resource = { resourceType: 'Patient', name: [{ family: `${MARK}-name` }] }
  const requests: Parameters<TestServer['inject']>[0][] = [
    { method: 'POST', url: '/Patient', headers: { ...plain, ...FHIR }, payload: resource },
    { method: 'POST', url: '/Patient', headers: { ...SECRETS, ...FHIR }, payload: resource },
    {
      method: 'POST',
      url: '/Patient',
      headers: { ...plain, ...FHIR },
      payload: `{"resourceType":"Patient","${MARK}":`,
    },
    { method: 'POST', url: '/Patient', headers: { ...plain, 'content-type': `text/${MARK}` }, payload: MARK },
    {
      method: 'POST',
      url: `/Patient/_search?a=${MARK}`,
      headers: { ...plain, 'content-type': 'application/x-www-form-urlencoded' },
      payload: `name=${MARK}`,
    },
    {
      method: 'POST',
      url: '/',
      headers: { ...plain, ...FHIR },
      payload: {
        resourceType: 'Bundle',
        type: 'batch',
        entry: [{ request: { method: 'GET', url: `Patient?name=${MARK}` } }],
      },
    },
    { url: `/Patient/${MARK}`, headers: SECRETS },
    { url: `/Patient?name=${MARK}&_count=1`, headers: plain },
    { url: `/${MARK}`, headers: plain },
    { url: `/${MARK}/a/b/c/d?${MARK}=${MARK}`, headers: plain },
    { url: `/_usage?client=${MARK}`, headers: plain },
    { url: `/_usage?${MARK}=1`, headers: plain },
    { url: `/_requests?request=${MARK}`, headers: plain },
    { method: 'PUT', url: `/Patient/${MARK}`, headers: { ...SECRETS, ...FHIR }, payload: { ...resource, id: MARK } },
    { method: 'DELETE', url: `/Patient/${MARK}`, headers: SECRETS },
  ]
  for (const request of requests) await server.inject(request)
  const shown = [(await server.inject('/_usage')).body, (await server.inject('/_requests?_count=1000')).body]
  shown.push((await server.inject('/metrics')).body)
  for (const body of shown) assert.not.match(body, MARK)
  assert.is((JSON.parse(shown[1] ?? '') as { requests: unknown[] }).requests.length, requests.length + 1)

  const database = server.get(Database)
  const tables = await database.all<{ name: string }>(
    sql('test.tables', "SELECT name FROM sqlite_master WHERE type = 'table'"),
    [],
  )
  const holding: string[] = []
  for (const { name } of tables) {
    const rows = await database.all<Record<string, unknown>>(sql(`test.${name}`, `SELECT * FROM "${name}"`), [])
    const text = rows.map((row) =>
      Object.values(row)
        .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)))
        .join(' '),
    )
    if (text.join('\n').includes(MARK)) holding.push(name)
  }
  await server.stop()
  assert.equal(
    holding.filter((name) => !/^(resource|history|ix_\w+)$/.test(name)),
    [],
  )
  const own = ['metering_usage', 'request_log', 'limits_server', 'limits_quota']
  for (const name of own)
    assert.ok(
      tables.some((table) => table.name === name),
      name,
    )
  const lines = server.lines.map((line) => JSON.stringify(line)).join('\n')
  assert.not.match(lines, MARK)
})

test.run()
