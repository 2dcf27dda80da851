/** How events get into the trail: with their change or not at all, in one chain, none dropped, old ones pruned. */
// npm test: sqlite and postgres, each with cases of its own
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Clock, defineError, definePlugin, systemClock } from '../../../kernel/index.ts'
import { Database, type SqlParam, sql } from '../../../plugins/database/service.ts'
import { chosenKind, sqliteKind } from '../../support/database-kinds.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { sharedByTests } from '../../support/shared-by-tests.ts'
import { until } from '../../support/until.ts'
import { audited, auditedPlugins, create, eventsOf, KEY, plain, send, verifiedHere } from './audited.ts'

const NoRoom = defineError('test/no-room', 507, 'no-store', 'There is no room.')

let statements = 0
const change = (server: TestServer, text: string, params: readonly SqlParam[] = []): Promise<unknown> => {
  statements += 1
  const statement = sql(`test.write-${statements}`, text)
  return server.get(Database).transact((transaction) => transaction.run(statement, params))
}
const rows = async <R>(server: TestServer, text: string): Promise<R[]> => {
  statements += 1
  return server.get(Database).all<R>(sql(`test.written-${statements}`, text), [])
}
const persistent = chosenKind.name === 'memory' ? sqliteKind : chosenKind

/** Time that is told, also to what waits for it. */
const toldClock = (start: string): Clock & { pass(ms: number): void } => {
  let now = Date.parse(start)
  let waiting: { at: number; controller: AbortController }[] = []
  return {
    now: () => now,
    monotonic: () => systemClock.monotonic(),
    deadline(ms) {
      const controller = new AbortController()
      waiting.push({ at: now + ms, controller })
      return controller.signal
    },
    pass(ms) {
      now += ms
      const due = waiting.filter(({ at }) => at <= now)
      waiting = waiting.filter(({ at }) => at > now)
      for (const { controller } of due) controller.abort()
    },
  }
}

/** Makes the database refuse rows of the trail, as a full disk would. */
const refuseRows = async (server: TestServer): Promise<() => Promise<unknown>> => {
  if (chosenKind.name === 'postgres') {
    await change(server, 'ALTER TABLE audit_event ADD CONSTRAINT full_disk CHECK (seq < 0) NOT VALID')
    return () => change(server, 'ALTER TABLE audit_event DROP CONSTRAINT full_disk')
  }
  await change(server, "CREATE TRIGGER full_disk BEFORE INSERT ON audit_event BEGIN SELECT RAISE(ABORT, 'full'); END")
  return () => change(server, 'DROP TRIGGER full_disk')
}

/** Tests that need no settings of their own share this server. */
const commonServer = sharedByTests(
  () => audited({ settings: { conformance: { update_as_create: true } } }),
  (server) => server.stop(),
)

test('a change whose event cannot be written is refused with 503, and nothing is stored', async () => {
  const server = await commonServer()
  await send(server, 'PUT', '/Patient/p1', { resourceType: 'Patient', id: 'p1' })
  const allow = await refuseRows(server)
  const entry = [{ resource: { resourceType: 'Patient', id: 'p2' }, request: { method: 'PUT', url: 'Patient/p2' } }]
  for (const attempt of [
    () => send(server, 'POST', '/Patient', { resourceType: 'Patient' }),
    () => send(server, 'PUT', '/Patient/p1', { resourceType: 'Patient', id: 'p1', active: true }),
    () => send(server, 'DELETE', '/Patient/p1'),
    () => send(server, 'POST', '/', { resourceType: 'Bundle', type: 'transaction', entry }),
  ]) {
    const answer = await attempt()
    assert.is(answer.statusCode, 503, answer.body)
    assert.match(answer.body, /could not be recorded/)
    assert.is(answer.headers['retry-after'], '1')
  }
  await allow()
  const bundle = (await server.inject('/Patient')).json() as { entry: { resource: { meta: { versionId: string } } }[] }
  assert.equal(
    bundle.entry.map(({ resource }) => resource.meta.versionId),
    ['1'],
  )
  assert.is(
    (await send(server, 'PUT', '/Patient/p1', { resourceType: 'Patient', id: 'p1', active: true })).statusCode,
    200,
  )
  assert.is((await verifiedHere(server)).ok, true)
})

test('reads are answered while the trail cannot be written, until no more can be kept; then none was dropped', async () => {
  const server = await audited({ settings: { audit: { unattributed_per_second: 0 } } })
  const id = await create(server, { resourceType: 'Patient' })
  const allow = await refuseRows(server)
  // Most of them in batches, of which each entry has an event, and the batch one more.
  const entry = Array.from({ length: 900 }, () => ({ request: { method: 'GET', url: `Patient/${id}` } }))
  let answered = 0
  for (let n = 0; n < 10; n += 1) {
    const batch = await send(server, 'POST', '/', { resourceType: 'Bundle', type: 'batch', entry })
    const { entry: answers } = batch.json() as { entry: { response: { status: string } }[] }
    answered += answers.filter(({ response }) => response.status === '200 OK').length
    await new Promise(setImmediate)
  }
  assert.is(answered, 9_000)
  let status = 200
  while (status === 200 && answered < 20_000) {
    status = (await server.inject(`/Patient/${id}`)).statusCode
    if (status === 200) answered += 1
    // Answers from memory take no turn of the event loop, and the writer lease is lost where no beat gets one for seconds.
    if (answered % 100 === 0) await new Promise(setImmediate)
  }
  assert.is(status, 503)
  assert.ok(answered >= 9_000 && answered <= 11_000, `${answered} were kept`)
  await allow()
  const { body } = await server.inject('/_audit?_format=ndjson&subtype=read&outcome=0')
  assert.is(body.split('\n').filter((line) => line.includes(`"Patient/${id}/_history/1"`)).length, answered)
  assert.is((await verifiedHere(server)).ok, true)
  await server.stop()
})

test('64 writers at once make one chain: as many events as changes, nothing broken', async () => {
  const server = await commonServer()
  const before = (await eventsOf(server, 'subtype=create')).length
  const EACH = 10
  await Promise.all(
    Array.from({ length: 64 }, async () => {
      for (let n = 0; n < EACH; n += 1) await create(server, { resourceType: 'Patient' })
    }),
  )
  const verdict = await verifiedHere(server)
  assert.is(verdict.ok, true, JSON.stringify(verdict))
  assert.is((await eventsOf(server, 'subtype=create')).length - before, 64 * EACH)
})

/** Two tests share these two servers on one database. */
const together = sharedByTests(
  async () => {
    const { settings, remove } = await persistent.fresh(auditedPlugins)
    const start = () =>
      serverWith({ together: true, plugins: auditedPlugins, settings: { ...settings, audit: { key: KEY } } })
    return { servers: [await start(), await start()] as const, remove }
  },
  async ({ servers, remove }) => {
    for (const server of servers) await server.stop()
    await remove()
  },
)

test('two servers on one database share one chain without a fork', async () => {
  if (persistent.name === 'sqlite') return // has one server that writes
  const {
    servers: [one, other],
  } = await together()
  const EACH = 20
  // Resources are numbered by one server at a time: the other one only reads.
  const id = await create(one, { resourceType: 'Patient' })
  await Promise.all([
    (async () => {
      for (let n = 0; n < EACH; n += 1) await create(one, { resourceType: 'Patient' })
    })(),
    (async () => {
      for (let n = 0; n < EACH; n += 1) {
        await other.inject(`/Patient/${id}`)
        await other.inject('/_audit?_count=1')
      }
    })(),
  ])
  const verdict = await verifiedHere(one)
  assert.is(verdict.ok, true, JSON.stringify(verdict))
  await other.inject('/_audit?_count=1')
  assert.is((await eventsOf(one, 'subtype=create')).length, EACH + 1)
  assert.is((await eventsOf(one, 'subtype=read')).length, EACH)
})

test('servers that write packs of different lengths find one another out: no number is given twice', async () => {
  if (persistent.name === 'sqlite') return // has one server that writes
  const {
    servers: [one, other],
  } = await together()
  const id = await create(one, { resourceType: 'Patient' })
  // Each remembers where the trail ended when it wrote last.
  for (const [server, length] of [
    [one, 10],
    [other, 14],
    [one, 12],
    [other, 9],
    [one, 20],
  ] as const) {
    await Promise.all(Array.from({ length }, () => server.inject(`/Patient/${id}`)))
    await server.inject('/_audit?_count=1')
  }
  const verdict = await verifiedHere(other)
  assert.is(verdict.ok, true, JSON.stringify(verdict))
  assert.is((await eventsOf(one, `subtype=read&entity=Patient/${id}`)).length, 65)
})

test('a stop writes what waits', async () => {
  const { settings, remove } = await persistent.fresh(auditedPlugins)
  const clock = toldClock('2024-01-01T00:00:00Z')
  const options = { plugins: auditedPlugins, settings: { ...settings, audit: { key: KEY } } }
  const server = await serverWith({ ...options, clock: { ...systemClock, deadline: clock.deadline } })
  for (let n = 0; n < 5; n += 1) await server.inject('/Patient')
  await server.stop()
  const again = await serverWith(options)
  assert.is((await eventsOf(again, 'subtype=search-type')).length, 5)
  await again.stop()
  await remove()
})

test('refusals of unknown callers are told one by one up to a limit a second, and the others are counted exactly', async () => {
  const clock = toldClock('2024-01-01T00:00:00Z')
  const server = await audited({
    clock: { ...systemClock, now: clock.now },
    settings: { audit: { unattributed_per_second: 20 } },
  })
  const known = JSON.stringify({ kind: 'client', client: 'c1' })
  let refused = 0
  for (const second of [0, 1, 2]) {
    clock.pass(1_000)
    for (let n = 0; n < 100 * (second + 1); n += 1) {
      await server.inject({ url: '/Patient/1', headers: { authorization: 'Bearer bad' } })
      refused += 1
    }
    // Those of a caller who is known are all told.
    await server.inject({ url: '/Patient/none', headers: { 'x-caller': known } })
  }
  const told = (await eventsOf(server, 'subtype=request')).length
  assert.is(told, 60)
  const sampled = await eventsOf(server, 'subtype=sampled')
  const counted = sampled.map(({ entity }) => Number(entity?.find(({ detail }) => detail)?.detail?.[0]?.valueString))
  assert.ok(sampled.length >= 1)
  assert.is(
    counted.reduce((sum, one) => sum + one, told),
    refused,
  )
  assert.is((await eventsOf(server, 'subtype=read&agent=c1')).length, 3)
  await server.stop()
})

test('refusals that are only counted are summed by status: errors of the server have outcome 8, those of clients 4', async () => {
  const clock = toldClock('2024-01-01T00:00:00Z')
  const full = definePlugin({
    name: 'full',
    setup({ hooks }) {
      hooks.beforeRequest.tap('full', ({ url }) => {
        if (url === '/Patient/full') throw NoRoom()
      })
    },
  })
  const server = await serverWith({
    plugins: [...auditedPlugins, full],
    clock: { ...systemClock, now: clock.now },
    settings: { audit: { key: KEY, unattributed_per_second: 1 } },
  })
  await server.inject('/Patient/none')
  for (let n = 0; n < 3; n += 1) assert.is((await server.inject('/Patient/full')).statusCode, 507)
  for (let n = 0; n < 2; n += 1) assert.is((await server.inject('/Patient/none')).statusCode, 404)
  const summaries = (await eventsOf(server, 'subtype=sampled')).map(({ outcome, contained, entity }) => [
    outcome,
    contained?.[0]?.issue[0]?.code,
    entity?.find(({ detail }) => detail)?.detail?.[0]?.valueString,
  ])
  assert.equal(summaries.sort(), [
    ['4', 'not-found', '2'],
    ['8', 'no-store', '3'],
  ])
  await server.stop()
})

test('what is older than retention_days is pruned after it was verified, and verification goes on from there', async () => {
  const { settings, remove } = await persistent.fresh(auditedPlugins)
  const start = async (clock: Clock, audit: object = {}) =>
    serverWith({ plugins: auditedPlugins, settings: { ...settings, audit: { key: KEY, ...audit } }, clock })
  const clock = toldClock('2024-01-01T00:00:00Z')
  const old = await start({ ...systemClock, now: clock.now })
  for (let n = 0; n < 5; n += 1) await create(old, { resourceType: 'Patient' })
  await old.stop()
  clock.pass(10 * 86_400_000)
  const server = await start({ ...systemClock, now: clock.now }, { retention_days: 9 })
  await until(async () => (await eventsOf(server, 'subtype=prune')).length === 1, 10_000, 'the pruning')
  const verdict = await verifiedHere(server)
  assert.is(verdict.ok, true, JSON.stringify(verdict))
  assert.equal(verdict.pruned, { seq: 7, count: 7 })
  assert.is((await eventsOf(server, 'subtype=create')).length, 0)
  await server.stop()

  const other = await serverWith({ plugins: plain, settings })
  const { verifyTrail } = await import('../../../plugins/audit/verify/walk.ts')
  const verify = (checkpoint?: { seq: number; mac: string }) =>
    verifyTrail(other.get(Database), { key: KEY, previousKeys: [], checkpoint })
  assert.is((await verify({ seq: 3, mac: '0'.repeat(64) })).checkpoint, 'pruned')
  const [head] = await rows<{ pruned_mac: Uint8Array }>(other, 'SELECT pruned_mac FROM audit_head')
  const mac = Buffer.from(head?.pruned_mac ?? []).toString('hex')
  assert.is((await verify({ seq: 7, mac })).checkpoint, 'matches')
  await change(other, 'DELETE FROM audit_event WHERE seq = 8')
  assert.equal((await verify()).broken, { seq: 8, kind: 'missing' })
  await other.stop()
  await remove()
})

test('a broken trail is not pruned', async () => {
  const { settings, remove } = await persistent.fresh(auditedPlugins)
  const start = async (clock: Clock, audit: object = {}) =>
    serverWith({ plugins: auditedPlugins, settings: { ...settings, audit: { key: KEY, ...audit } }, clock })
  const clock = toldClock('2024-01-01T00:00:00Z')
  const old = await start({ ...systemClock, now: clock.now })
  for (let n = 0; n < 5; n += 1) await create(old, { resourceType: 'Patient' })
  await old.stop()
  const other = await serverWith({ plugins: plain, settings })
  await change(other, 'UPDATE audit_event SET status = 299 WHERE seq = 4')
  await other.stop()
  clock.pass(10 * 86_400_000)
  const server = await start({ ...systemClock, now: clock.now }, { retention_days: 9 })
  const isTold = (): boolean => server.lines.some(({ msg }) => /broken and is not pruned/.test(String(msg)))
  await until(isTold, 10_000, 'the refusal')
  assert.equal((await verifiedHere(server)).broken, { seq: 4, kind: 'altered' })
  assert.is((await eventsOf(server, 'subtype=create')).length, 5)
  await server.stop()
  await remove()
})

test('a checkpoint goes to the log at start, every hour, and at stop', async () => {
  const clock = toldClock('2024-01-01T00:00:00Z')
  const server = await audited({ clock })
  const checkpoints = () => server.lines.filter(({ msg }) => msg === 'audit checkpoint')
  assert.is(checkpoints().length, 1)
  await create(server, { resourceType: 'Patient' })
  clock.pass(3_600_000)
  await until(() => checkpoints().length === 2, 5_000, 'the second checkpoint')
  await server.stop()
  assert.is(checkpoints().length, 3)
  const seqs = checkpoints().map(({ seq }) => Number(seq))
  assert.equal(seqs, [1, 2, 3])
})

test.run()
