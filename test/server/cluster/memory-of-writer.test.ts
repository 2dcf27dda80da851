/**
 * The server that holds the writer lease answers reads and searches from memory: never a version older than one that was
 * acknowledged or shown before, and none that was not committed. It stops doing so when it may not be the only one that writes.
 */
// database: postgres, where commits overlap and servers take over
import { execFileSync } from 'node:child_process'
import pg from 'pg'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, createKernel, definePlugin } from '../../../kernel/index.ts'
import databasePlugin from '../../../plugins/database/index.ts'
import { Resources } from '../../../plugins/fhir/service.ts'
import probes from '../../../plugins/probes/index.ts'
import { createSeededRandom } from '../../fuzz/random.ts'
import { chosenKind, type FreshDatabase } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { startPostgres } from '../../support/postgres.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { basic, serverWith, type TestServer } from '../../support/server-with.ts'
import { spawnServer } from '../../support/spawn-server.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { until } from '../../support/until.ts'
import { watchedDatabase } from '../../support/watched-database.ts'
import { writersTogether } from '../../support/writers-together.ts'
import { runOverlapping, type Send } from './overlapping-clients.ts'

const FHIR = { 'content-type': 'application/fhir+json' }
const WAIT_MS = 20_000
const CONFIRMED_MS = 3_000 // less than a confirmed beat is good for, with the beat that is lost
const KILLS = 3 // of PostgreSQL
const WRITES = 800 // of overlapping clients
const CUTS = 10 // more connections than that are cut
const MAX_ROUNDS = 30 // of commits whose connection is lost
const settings = { conformance: { update_as_create: true } }
const definitions = stubDefinitions(
  ['Patient', 'Bundle', 'Element', 'Extension', 'Identifier', 'HumanName', 'Meta', 'Coding', 'Reference'],
  /^SearchParameter-(Patient|individual|Resource)-/,
)

/** The plugins of most servers here. */
const own = [databasePlugin, definitions, ...fhirPlugins]

const urlOf = ({ settings: { database } }: FreshDatabase): string => (database as { postgres_url: string }).postgres_url
const through = (proxy: TcpProxy, fresh: FreshDatabase): Record<string, unknown> => {
  const url = new URL(urlOf(fresh))
  url.port = String(proxy.port)
  return { kind: 'postgres', postgres_url: url.href }
}
const portOf = (fresh: FreshDatabase): number => Number(new URL(urlOf(fresh)).port)

const sendTo =
  (server: TestServer): Send =>
  async (method, url, body, headers = {}) => {
    const payload = body === undefined ? {} : { payload: JSON.stringify(body) }
    const given = body === undefined ? headers : { ...FHIR, ...headers }
    const answer = await server.inject({ method: method as 'GET', url, headers: given, ...payload })
    return { status: answer.statusCode, etag: String(answer.headers.etag ?? ''), body: answer.body }
  }
const patient = (id: string, family: string) => ({
  resourceType: 'Patient',
  id,
  identifier: [{ system: 'http://example.org/number', value: id }],
  name: [{ family }],
})
const versionOf = (body: string): string => JSON.parse(body).meta.versionId

/** Returns true `most` times, counted over all writers. */
const upTo = (most: number): (() => boolean) => {
  let count = 0
  return () => {
    count += 1
    return count <= most
  }
}

/** The same, and goes on until `isEnough`, at most to four times as many. */
const atLeast = (least: number, isEnough: () => boolean): (() => boolean) => {
  const [first, all] = [upTo(least), upTo(4 * least)]
  return () => all() && (first() || !isEnough())
}

test('answers from memory what is read again, and asks the database nothing', async () => {
  const { plugin, watch } = watchedDatabase()
  const server = await serverWith({ plugins: [plugin, definitions, ...fhirPlugins], settings })
  const send = sendTo(server)
  await send('PUT', '/Patient/a', patient('a', 'one'))
  for (let n = 0; n < 3; n += 1) await send('GET', '/Patient/a')
  const search = '/Patient?identifier=http://example.org/number|a'
  for (let n = 0; n < 3; n += 1) await send('GET', search)
  const before = watch.asked
  assert.is(versionOf((await send('GET', '/Patient/a')).body), '1')
  assert.is(JSON.parse((await send('GET', search)).body).total, 1)
  assert.is(watch.asked - before, 0)
  await send('PUT', '/Patient/a', patient('a', 'two'))
  const written = watch.asked
  assert.is(versionOf((await send('GET', '/Patient/a')).body), '2')
  assert.is(watch.asked - written, 0, 'the version that was written is kept in place of the one before')
  assert.is(JSON.parse((await send('GET', search)).body).entry[0].resource.meta.versionId, '2')
  await send('DELETE', '/Patient/a')
  assert.is((await send('GET', '/Patient/a')).status, 410)
  assert.is(JSON.parse((await send('GET', search)).body).total, 0)
  await server.stop()
})

test('servers that write together ask the database each time', async () => {
  const fresh = await chosenKind.fresh(own)
  const { plugin, watch } = watchedDatabase(writersTogether)
  const others = [definitions, ...fhirPlugins]
  const given = { ...settings, ...fresh.settings }
  const first = await serverWith({ plugins: [plugin, ...others], settings: given })
  const second = await serverWith({ plugins: [writersTogether, ...others], settings: given })
  const [one, other] = [sendTo(first), sendTo(second)]
  const search = '/Patient?identifier=http://example.org/number|a'
  for (let n = 1; n < 5; n += 1) {
    await other('PUT', '/Patient/a', patient('a', `${n}`))
    for (let times = 0; times < 3; times += 1) {
      const before = watch.asked
      assert.is(versionOf((await one('GET', '/Patient/a')).body), `${n}`)
      assert.is(JSON.parse((await one('GET', search)).body).entry[0].resource.meta.versionId, `${n}`)
      assert.ok(watch.asked - before >= 2)
    }
  }
  await Promise.all([first.stop(), second.stop()])
  await fresh.remove()
})

test('under overlapping clients, no read or search is older than what was known before it, or shows what was refused', async () => {
  const { plugin, watch } = watchedDatabase()
  const server = await serverWith({ plugins: [plugin, definitions, ...fhirPlugins], settings })
  const random = createSeededRandom(7)
  const found = await runOverlapping({
    send: sendTo(server),
    random,
    watch,
    writers: 6,
    readers: 10,
    goesOn: upTo(WRITES),
  })
  assert.equal(found.wrong.slice(0, 10), [])
  for (const label of Object.keys(found.counts)) assert.match(label, / (20[01]|204|304|404|409|410|412)$|of nothing$/)
  const reads = found.counts['read 200'] ?? 0
  const asked = watch.statements.get('fhir.read') ?? 0
  assert.ok(reads > asked * 1.2, `${reads} reads, ${asked} of them and of patches asked the database`)
  assert.ok((found.counts['transaction 412'] ?? 0) > 50, JSON.stringify(found.counts))
  await server.stop()
})

test('the same where connections are lost in the middle of COMMIT', async () => {
  const fresh = await chosenKind.fresh(own)
  const proxy = await startTcpProxy(portOf(fresh))
  const random = createSeededRandom(11)
  const { plugin, watch } = watchedDatabase()
  const server = await serverWith({
    plugins: [plugin, definitions, ...fhirPlugins],
    settings: { ...settings, database: through(proxy, fresh) },
  })
  let cut = 0
  proxy.onClient = (chunk) => {
    if (!chunk.includes('fence') || !random.chance(0.05)) return 'pass'
    cut += 1
    return random.chance(0.7) ? 'cut' : 'drop'
  }
  const isUnknown = (status: number): boolean => status === 503
  // How many statements there are to cut depends on how many changes share a commit.
  const goesOn = atLeast(WRITES / 2, () => cut > CUTS)
  const clients = { send: sendTo(server), random, watch, writers: 6, readers: 10, goesOn }
  const found = await runOverlapping({ ...clients, isUnknown })
  proxy.onClient = () => 'pass'
  assert.equal(found.wrong.slice(0, 10), [])
  assert.ok(cut > CUTS, `${cut} connections were cut`)
  for (const label of Object.keys(found.counts))
    assert.match(label, / (20[01]|204|304|404|409|410|412|503)$|of nothing$/)
  assert.ok((found.counts['read 200'] ?? 0) > 500, JSON.stringify(found.counts))
  await server.stop()
  proxy.stop()
  await fresh.remove()
})

test('the same where PostgreSQL is killed: what was seen before it was on disk is gone from memory too', async () => {
  const postgres = await startPostgres()
  await postgres.createDatabase('killed')
  const random = createSeededRandom(13)
  const { plugin, watch } = watchedDatabase()
  const database = { kind: 'postgres', postgres_url: postgres.url(undefined, 'killed') }
  const server = await serverWith({
    plugins: [plugin, definitions, ...fhirPlugins, probes],
    settings: { ...settings, database },
  })
  const send = sendTo(server)
  let acknowledged = 0
  /** Resolves when PostgreSQL accepts connections again: until then who was refused would be refused for nothing. */
  let accepts: Promise<void> = Promise.resolve()
  const counted: Send = async (method, url, ...more) => {
    const answer = await send(method, url, ...more)
    if (answer.status === 503) await accepts
    if (method !== 'GET' && answer.status < 300) acknowledged += 1
    return answer
  }
  let isRunning = true
  const kill = async (): Promise<void> => {
    for (let n = 0; n < KILLS; n += 1) {
      const enough = acknowledged + 60
      await until(() => acknowledged >= enough || !isRunning, WAIT_MS, 'acknowledged writes')
      const { promise, resolve } = Promise.withResolvers<void>()
      accepts = promise
      await postgres.restart('kill')
      resolve()
      await until(async () => (await send('GET', '/readyz')).status === 200, WAIT_MS, 'the server to be ready')
    }
    isRunning = false
  }
  const clients = { send: counted, random, watch, writers: 6, readers: 8, goesOn: () => isRunning, crashes: true }
  const [found] = await Promise.all([runOverlapping({ ...clients, isUnknown: (status) => status === 503 }), kill()])
  assert.equal(found.wrong.slice(0, 10), [])
  // Cached versions equal those of the database.
  for (const id of ['r0', 'r1', 'r2', 'r3'])
    for (let n = 0; n < 3; n += 1) {
      const read = await send('GET', `/Patient/${id}`)
      const [newest] = JSON.parse((await send('GET', `/Patient/${id}/_history?_count=1`)).body).entry
      assert.is(read.etag, newest.response.etag)
      if (read.status === 200) assert.equal(JSON.parse(read.body), newest.resource)
    }
  await server.stop()
  await postgres.stop()
})

test('a commit that is carried out after its connection was lost is seen by the next read and search', async () => {
  const fresh = await chosenKind.fresh(own)
  const proxy = await startTcpProxy(portOf(fresh))
  const onlooker = new pg.Client(urlOf(fresh))
  await onlooker.connect()
  const server = await serverWith({
    plugins: own,
    settings: { ...settings, database: through(proxy, fresh), cluster: { db_pool: 2 } },
  })
  const send = sendTo(server)
  const search = '/Patient?identifier=http://example.org/number|a'
  // Prepares the statements on all sessions.
  await Promise.all(Array.from({ length: 20 }, (_, n) => send('PUT', `/Patient/n${n}`, patient(`n${n}`, 'x'))))
  const isAtWork = async (): Promise<boolean> =>
    (
      await onlooker.query(
        "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' OR state = 'active' AND pid <> pg_backend_pid()",
      )
    ).rowCount !== 0
  let carriedOut = 0
  for (let round = 1; carriedOut < 3; round += 1) {
    assert.ok(round <= MAX_ROUNDS, `${carriedOut} of ${round} commits were carried out`)
    const put = await send('PUT', '/Patient/a', patient('a', `before ${round}`))
    assert.ok(put.status < 300, put.body)
    const before = versionOf(put.body)
    for (let n = 0; n < 3; n += 1) {
      assert.is(versionOf((await send('GET', '/Patient/a')).body), before)
      await send('GET', search)
    }
    await onlooker.query('BEGIN; SELECT FROM cluster_mark FOR UPDATE')
    proxy.onClient = (chunk) => (chunk.includes('COMMIT') || chunk.includes('fence') ? 'cut' : 'pass')
    const lost = await send('PUT', '/Patient/a', patient('a', `lost ${round}`))
    proxy.onClient = () => 'pass'
    assert.is(lost.status, 503, lost.body)
    // It waits for the row of the fence; its end is not listened for.
    for (let n = 0; n < 4; n += 1) {
      assert.is(versionOf((await send('GET', '/Patient/a')).body), before)
      assert.is(JSON.parse((await send('GET', search)).body).entry[0].resource.meta.versionId, before)
    }
    await onlooker.query('COMMIT')
    await until(async () => !(await isAtWork()), WAIT_MS, 'the end of the transaction')
    // After half a second it waits no longer for the row of the fence, and is undone.
    const { ver } = (await onlooker.query("SELECT ver FROM resource WHERE id = 'a'")).rows[0]
    if (`${ver}` !== before) carriedOut += 1
    const read = await send('GET', '/Patient/a')
    const found = await send('GET', search)
    assert.is(versionOf(read.body), `${ver}`, 'read')
    assert.is(JSON.parse(found.body).entry[0].resource.meta.versionId, `${ver}`, 'search')
  }
  await onlooker.end()
  await server.stop()
  proxy.stop()
  await fresh.remove()
})

test('while the connection that confirms the lease is lost, reads and searches ask the database', async () => {
  const fresh = await chosenKind.fresh(own)
  const proxy = await startTcpProxy(portOf(fresh))
  const { plugin, watch } = watchedDatabase()
  const server = await serverWith({
    plugins: [plugin, definitions, ...fhirPlugins],
    settings: { ...settings, database: through(proxy, fresh) },
  })
  const send = sendTo(server)
  const search = '/Patient?identifier=http://example.org/number|a'
  await send('PUT', '/Patient/a', patient('a', 'one'))
  /** Whether the answer is one of the database. */
  const asks = async (url: string): Promise<boolean> => {
    const before = watch.asked
    const { status, body } = await send('GET', url)
    assert.is(status, 200, body)
    return watch.asked > before
  }
  const fromMemory = async (): Promise<void> => {
    for (const url of ['/Patient/a', search]) await until(async () => !(await asks(url)), WAIT_MS, `${url} from memory`)
  }
  await fromMemory()
  // Beats and renewals of the lease; other statements pass. The last confirmed beat stays good for four seconds.
  proxy.onClient = (chunk) => (chunk.includes('cluster_lease') ? 'drop' : 'pass')
  await until(() => asks('/Patient/a'), CONFIRMED_MS, 'a read to ask the database')
  for (const url of [search, '/Patient/a', search]) assert.ok(await asks(url), url)
  proxy.onClient = () => 'pass'
  await until(async () => (await send('GET', '/Patient/a')).status === 200, WAIT_MS, 'the lease to be confirmed')
  await fromMemory()
  await server.stop()
  proxy.stop()
  await fresh.remove()
})

/** Holds a request that was admitted before it reads anything. */
const gate: { wait: Promise<unknown> | undefined; reached(): void } = { wait: undefined, reached: () => undefined }
const gated: AnyPlugin = definePlugin({
  name: 'gated',
  setup({ hooks }) {
    hooks.authenticate.tapPromise('wait at the gate', async () => {
      if (gate.wait !== undefined) {
        gate.reached()
        await gate.wait
      }
      return undefined
    })
  },
})

/** Waits until the server at the address is ready, and writes there. It runs in a process of its own. */
const TAKE_OVER = `
const [base] = process.argv.slice(1)
const ready = async () => (await fetch(base + '/readyz')).status === 200
while (!(await ready())) await new Promise((resolve) => setTimeout(resolve, 50))
const body = JSON.stringify({ resourceType: 'Patient', id: 'a', name: [{ family: 'after' }] })
const answer = await fetch(base + '/Patient/a', { method: 'PUT', headers: { 'content-type': 'application/fhir+json' }, body })
process.stdout.write(String(answer.status))
`

test('one that stood still in the middle of requests, and wakes after a takeover, answers none of them from memory', async () => {
  const fresh = await chosenKind.fresh(basic)
  const plugins = [databasePlugin, searchDefinitions(), ...fhirPlugins, probes, gated]
  const server = await serverWith({ plugins, settings: { ...settings, ...fresh.settings } })
  const send = sendTo(server)
  const search = '/Patient?identifier=http://example.org/number|a'
  await send('PUT', '/Patient/a', patient('a', 'before'))
  for (let n = 0; n < 3; n += 1) await Promise.all([send('GET', '/Patient/a'), send('GET', search)])
  const next = await spawnServer(fresh.settings, { plugins: ['search-definitions'], isEarly: true })
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
  let count = 0
  gate.reached = () => {
    count += 1
    if (count === 2) arrive()
  }
  gate.wait = opened
  const read = send('GET', '/Patient/a')
  const found = send('GET', search)
  await arrived
  // This process with its server is suspended until the other one has taken over.
  const arguments_ = ['--input-type=module', '-e', TAKE_OVER, next.base]
  assert.is(execFileSync(process.execPath, arguments_, { encoding: 'utf8', timeout: 40_000 }), '200')
  gate.wait = undefined
  open()
  const late = await read
  if (late.status === 200) assert.is(versionOf(late.body), '2', 'not from memory')
  else assert.is(late.status, 503)
  const lateFound = await found
  // The other server has stored a resource without that identifier.
  if (lateFound.status === 200) assert.is(JSON.parse(lateFound.body).total, 0, 'not from memory')
  else assert.is(lateFound.status, 503)
  await server.stop()
  await next.kill()
  await fresh.remove()
})

test('a command beside it changes no resource, and one that has the database to itself does', async () => {
  const fresh = await chosenKind.fresh(basic)
  const server = await serverWith({ settings: { ...settings, ...fresh.settings } })
  const send = sendTo(server)
  assert.is((await send('PUT', '/Patient/a', patient('a', 'before'))).status, 201)
  const write = async (): Promise<void> => {
    const command = await createKernel({
      plugins: basic,
      only: ['fhir'],
      settings: { ...settings, ...fresh.settings },
      log: { level: 'silent' },
    })
    await command.start()
    try {
      const session = command.get(Resources).as({ kind: 'internal', purpose: 'test' })
      await session.change([{ kind: 'update', type: 'Patient', id: 'a', json: JSON.stringify(patient('a', 'after')) }])
    } finally {
      await command.stop()
    }
  }
  const refused = await write().then(
    () => undefined,
    (error: unknown) => error,
  )
  assert.is((refused as { key?: string } | undefined)?.key, 'fhir/written-beside')
  assert.is(versionOf((await send('GET', '/Patient/a')).body), '1')
  await server.stop()
  await write()
  await fresh.remove()
})

test.run()
