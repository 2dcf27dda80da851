/** Totals that a client may not pass in a UTC day or month. Spec: [quota]. */
// npm test: postgres, on which it has a test more
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { AnyPlugin, Kernel } from '../../kernel/index.ts'
import { Database, sql } from '../../plugins/database/service.ts'
import limits from '../../plugins/limits/index.ts'
import { chosenKind } from '../support/database-kinds.ts'
import { pluginOf } from '../support/kernel-with.ts'
import { createManualClock, type ManualClock } from '../support/manual-clock.ts'
import { named } from '../support/named-callers.ts'
import { connectTo } from '../support/raw-client.ts'
import { assertRefused } from '../support/refused.ts'
import { basic, serverWith, type TestServer } from '../support/server-with.ts'
import { until } from '../support/until.ts'
import { watchedDatabase } from '../support/watched-database.ts'
import { writersTogether } from '../support/writers-together.ts'

const FHIR = { 'content-type': 'application/fhir+json' }
const HOUR_MS = 3_600_000
const plugins: readonly AnyPlugin[] = [...basic, named, limits]

/** Tests whose clocks stand still share a server with this quota, most with a client of their own. */
const SHARED = {
  requests_per_day: 3,
  writes_per_day: 2,
  clients: {
    big: { requests_per_day: 6 },
    free: { requests_per_day: 0 },
    none: { requests_per_day: 0, writes_per_day: 0 },
    transaction: { requests_per_day: 0, writes_per_day: 12 },
    batch: { requests_per_day: 0, writes_per_day: 12 },
    failing: { requests_per_day: 0, writes_per_day: 10 },
    changing: { requests_per_day: 0, writes_per_day: 3 },
  },
}
let shared: TestServer
const ownZone = process.env.TZ
test.before(async () => {
  process.env.TZ = 'Asia/Tokyo' // a day that is not UTC's must change nothing
  shared = await serverWith({ plugins, settings: { quota: SHARED }, clock: createManualClock() })
})
test.after(async () => {
  await shared.stop()
  if (ownZone === undefined) delete process.env.TZ
  else process.env.TZ = ownZone
})

const withQuota = async (
  quota: Record<string, unknown>,
  work: (server: TestServer, clock: ManualClock) => Promise<void>,
): Promise<void> => {
  const clock = createManualClock() // noon in UTC on 15 January
  const server = await serverWith({ plugins, settings: { quota }, clock })
  try {
    await work(server, clock)
  } finally {
    await server.stop()
  }
}

const search = (server: Kernel, client = 'app') =>
  server.inject({ url: '/Patient', headers: { 'x-test-client': client } })
const create = (server: Kernel, client = 'app') =>
  server.inject({
    method: 'POST',
    url: '/Patient',
    headers: { ...FHIR, 'x-test-client': client },
    payload: '{"resourceType":"Patient"}',
  })
const bundleOf = (type: 'transaction' | 'batch', count: number, invalid = 0) => ({
  resourceType: 'Bundle',
  type,
  entry: Array.from({ length: count + invalid }, (_, at) => ({
    request: { method: 'POST', url: 'Patient' },
    resource: { resourceType: at < count ? 'Patient' : 'Observation' },
  })),
})
const send = (client: string, bundle: object) =>
  shared.inject({ method: 'POST', url: '/', headers: { ...FHIR, 'x-test-client': client }, payload: bundle })

/** How many of so many pass. */
const passing = async (count: number, ask: () => Promise<{ statusCode: number }>): Promise<number> => {
  let passed = 0
  for (let n = 0; n < count; n += 1) if ((await ask()).statusCode < 300) passed += 1
  return passed
}

test('requests_per_day: when it is used up, 429 until midnight in UTC, whatever the time zone of the server', () =>
  withQuota({ requests_per_day: 5 }, async (server, clock) => {
    assert.is(new Date(0).getTimezoneOffset(), -540)
    assert.is(await passing(8, () => search(server)), 5)
    await clock.advance(1_500)
    const refused = await search(server)
    const said = assertRefused(refused, { status: 429, code: 'throttled' }, 'the sixth')
    assert.is(refused.headers['retry-after'], String(12 * 3600 - 1))
    assert.is(said, 'The quota of 5 requests in a UTC day is used up. It begins anew in 43199 seconds.')
    assert.is((await search(server, 'other')).statusCode, 200, 'each client has its own')
    await clock.leap(12 * HOUR_MS - 1_501)
    assert.is((await search(server)).statusCode, 429)
    await clock.advance(1)
    assert.is(await passing(8, () => search(server)), 5)
  }))

test('requests_per_month: until the first of the next month', () =>
  withQuota({ requests_per_month: 5, requests_per_day: 5 }, async (server, clock) => {
    assert.is(await passing(6, () => search(server)), 5)
    const seconds = (17 * 24 - 12) * 3600 // from noon on 15 January to 1 February
    assert.is((await search(server)).headers['retry-after'], String(seconds))
    await clock.leap(seconds * 1000 - 1)
    assert.is((await search(server)).statusCode, 429)
    await clock.advance(1)
    assert.is(await passing(6, () => search(server)), 5)
  }))

test('writes_per_day: a transaction or batch of ten counts ten, and reads go on', async () => {
  for (const type of ['transaction', 'batch'] as const) {
    assert.is((await send(type, bundleOf(type, 10))).statusCode, 200)
    assert.is(await passing(5, () => create(shared, type)), 2)
    assertRefused(await send(type, bundleOf(type, 1)), { status: 429, code: 'throttled' }, type)
    assert.is((await search(shared, type)).statusCode, 200)
  }
})

test('what was not written does not count: refused creates, transactions that were undone, entries that failed', async () => {
  const bad = {
    method: 'POST' as const,
    url: '/Patient',
    headers: { ...FHIR, 'x-test-client': 'failing' },
    payload: '{}',
  }
  for (let n = 0; n < 20; n += 1) assert.ok((await shared.inject(bad)).statusCode < 429)
  const notMade = {
    ...bundleOf('transaction', 5),
    entry: [
      ...bundleOf('transaction', 5).entry,
      { request: { method: 'POST', url: 'Nothing' }, resource: { resourceType: 'Nothing' } },
    ],
  }
  assert.ok((await send('failing', notMade)).statusCode < 429)
  assert.is((await send('failing', { ...notMade, type: 'batch' })).statusCode, 200)
  assert.is(await passing(10, () => create(shared, 'failing')), 5)
})

test('updates and deletions are writes', async () => {
  const { id } = (await create(shared, 'changing')).json() as { id: string }
  const headers = { ...FHIR, 'x-test-client': 'changing' }
  const payload = JSON.stringify({ resourceType: 'Patient', id, active: true })
  assert.is((await shared.inject({ method: 'PUT', url: `/Patient/${id}`, headers, payload })).statusCode, 200)
  assert.is((await shared.inject({ method: 'DELETE', url: `/Patient/${id}`, headers })).statusCode, 204)
  assert.is((await create(shared, 'changing')).statusCode, 429)
})

test('bytes_per_day counts what crosses the wire in both directions', async () => {
  const clock = createManualClock()
  const settings = { quota: { bytes_per_day: 1_000 }, server: { bind: '127.0.0.1:0' } }
  const server = await serverWith({ plugins, settings, clock })
  const address = await server.listen()
  const client = await connectTo(address)
  const get = 'GET /Patient/none HTTP/1.1\r\nhost: a\r\nx-test-client: app\r\n\r\n'
  let bytes = 0
  let count = 0
  for (let received = ''; bytes < 1_000; count += 1) {
    client.send(get)
    await until(async () => (await client.until('HTTP/1.1')).length > received.length, 5_000, 'an answer')
    received = await client.until(']}')
    assert.not.match(received, 'HTTP/1.1 429', `after ${bytes} bytes`)
    bytes = received.length + get.length * (count + 1)
    assert.ok(count < 10)
  }
  assert.ok(count > 1)
  client.send(get)
  assert.match(await client.until('HTTP/1.1 429'), 'retry-after: 43200')
  client.destroy()
  await server.stop()
})

test('what is refused costs nothing', () =>
  withQuota({ requests_per_day: 3, requests_per_month: 10 }, async (server, clock) => {
    assert.is(await passing(50, () => search(server)), 3)
    for (const more of [3, 3, 1, 0]) {
      await clock.leap(24 * HOUR_MS)
      assert.is(await passing(5, () => search(server)), more)
    }
  }))

test('a client overrides field by field, and 0 lifts a limit', async () => {
  assert.is(await passing(9, () => search(shared)), 3)
  assert.is(await passing(9, () => search(shared, 'big')), 6)
  assert.is(await passing(9, () => search(shared, 'free')), 9)
  assert.is(await passing(9, () => create(shared, 'free')), 2, 'the others are from the default')
  assert.is(await passing(9, () => create(shared, 'none')), 9)
})

test('callers without a token are counted by address', () =>
  withQuota({ requests_per_day: 2 }, async (server) => {
    const from = (remoteAddress: string) => () => server.inject({ url: '/Patient', remoteAddress })
    assert.is(await passing(4, from('192.0.2.1')), 2)
    assert.is(await passing(4, from('192.0.2.2')), 2)
    assert.is(await passing(4, from('2001:db8::1')), 2)
    assert.is(await passing(4, from('2001:db8::2')), 0)
  }))

const quotaRows = (server: Kernel): Promise<readonly { holder: string; period: string; requests: number }[]> =>
  server.get(Database).longQuery(sql('test.quota-rows', 'SELECT holder, period, requests FROM limits_quota'), [])

/** Asks once from each of so many addresses, none of which comes twice. */
const fromMany = async (server: Kernel, count: number, first = 0): Promise<void> => {
  for (let at = first; at < first + count; at += 1) {
    const remoteAddress = `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`
    assert.is((await server.inject({ url: '/Patient', remoteAddress })).statusCode, 200)
  }
}

test('addresses without a token leave a bounded number of rows, and their sum is what was let in', async () => {
  const most = 20
  await withQuota({ requests_per_day: 10, most_addresses: most, refresh_seconds: 10 }, async (server, clock) => {
    const heavy = () => server.inject({ url: '/Patient', remoteAddress: '192.0.2.1' })
    assert.is(await passing(9, heavy), 9)
    assert.is(await passing(7, () => search(server)), 7)
    const rounds = 3
    const each = 50
    for (let round = 0; round < rounds; round += 1) {
      await fromMany(server, each, round * each)
      await clock.advance(5_000)
      await until(async () => (await quotaRows(server)).length <= 2 * (most + 2), 5_000, 'a bounded number of rows')
    }
    // What has been used the most stays, and so does every client.
    assert.is(await passing(5, heavy), 1)
    assert.is(await passing(5, () => search(server)), 3)
    await clock.advance(5_000)
    const sum = async (): Promise<Record<string, number>> => {
      const days = (await quotaRows(server)).filter(({ period }) => period.length === 10)
      return Object.fromEntries(
        ['address', 'client'].map((kind) => [
          kind,
          days.filter(({ holder }) => holder.startsWith(kind)).reduce((total, one) => total + one.requests, 0),
        ]),
      )
    }
    await until(
      async () => {
        const { address = 0, client = 0 } = await sum()
        return address >= rounds * each + 10 && client >= 10
      },
      5_000,
      'the sum',
    )
    assert.equal(await sum(), { address: rounds * each + 10, client: 10 })
  })
})

test('rows of addresses that an earlier server left are bounded too, and those of days that are over go', async () => {
  if (chosenKind.name === 'memory') return
  const place = await chosenKind.fresh()
  const clock = createManualClock()
  const server = (most: number) =>
    serverWith({
      plugins,
      settings: { ...place.settings, quota: { requests_per_day: 10, most_addresses: most, refresh_seconds: 10 } },
      clock,
    })
  const first = await server(1_000)
  await fromMany(first, 60)
  await first.stop()
  const second = await server(20)
  assert.ok((await quotaRows(second)).length >= 120)
  await clock.advance(5_000)
  await until(async () => (await quotaRows(second)).length <= 2 * 21, 5_000, 'a bounded number of rows')
  await clock.leap(48 * HOUR_MS)
  await until(
    async () => {
      // A round that was still under way when the clock moved leaves the work to the next one.
      await clock.advance(5_000)
      return (await quotaRows(second)).every(({ period }) => period.length === 7)
    },
    5_000,
    'rows of the month alone',
  )
  await second.stop()
  await place.remove()
})

test('what an address asks for while it loses its place is counted with the others', async () => {
  await withQuota({ requests_per_day: 1_000, most_addresses: 1, refresh_seconds: 10 }, async (server, clock) => {
    const addresses = ['192.0.2.1', '192.0.2.2', '192.0.2.3']
    const asking = Array.from({ length: 60 }, (_, at) =>
      server.inject({ url: '/Patient', remoteAddress: addresses[at % 3]! }),
    )
    assert.ok((await Promise.all(asking)).every(({ statusCode }) => statusCode === 200))
    const sum = async (): Promise<number> =>
      (await quotaRows(server))
        .filter(({ period }) => period.length === 10)
        .reduce((total, one) => total + one.requests, 0)
    await clock.advance(5_000)
    await clock.advance(5_000)
    await until(async () => (await sum()) === 60, 5_000, 'all of them')
  })
})

test('a refusal asks no database, and counts outlive a stop', async () => {
  if (chosenKind.name === 'memory') return // it is gone with its server
  const place = await chosenKind.fresh()
  const clock = createManualClock()
  const settings = { ...place.settings, quota: { requests_per_day: 10 } }
  const first = await serverWith({ plugins, settings, clock })
  assert.is(await passing(7, () => search(first)), 7)
  await first.stop()
  const { plugin, watch } = watchedDatabase()
  const second = await serverWith({ plugins: [plugin, ...plugins.slice(1)], settings, clock })
  assert.is(await passing(7, () => search(second)), 3)
  const { asked } = watch
  for (let n = 0; n < 20; n += 1) assert.is((await search(second)).statusCode, 429)
  assert.is(watch.asked, asked)
  await second.stop()
  await place.remove()
})

test('of three servers the overshoot is no more than what comes within refresh_seconds', async () => {
  if (chosenKind.name !== 'postgres') return // a SQLite file has one server
  const place = await chosenKind.fresh()
  const clock = createManualClock()
  const settings = { ...place.settings, quota: { requests_per_day: 120, refresh_seconds: 10 } }
  const watched = [watchedDatabase(writersTogether), watchedDatabase(writersTogether), watchedDatabase(writersTogether)]
  const servers: TestServer[] = []
  for (const { plugin } of watched)
    servers.push(await serverWith({ plugins: [plugin, ...plugins.slice(1)], settings, clock }))
  let passed = 0
  for (let second = 0; second < 30; second += 1) {
    for (const server of servers) passed += await passing(3, () => search(server))
    await clock.advance(1000)
    await until(() => watched.every(({ watch }) => watch.busy === 0), 5_000, 'the counts')
  }
  const rate = 9
  assert.ok(passed >= 120 && passed <= 120 + rate * 10, `${passed} passed`)
  for (const server of servers) await server.stop()
  await place.remove()
})

test('a database that does not take the counts loses none, and one that does not answer lets nobody in', async () => {
  const clock = createManualClock()
  const { plugin, watch } = watchedDatabase()
  const settings = { quota: { requests_per_day: 10, refresh_seconds: 10 } }
  const server = await serverWith({ plugins: [plugin, ...plugins.slice(1)], settings, clock })
  assert.is(await passing(6, () => search(server)), 6)
  watch.refuses = true
  await clock.advance(4_000)
  assert.is((await search(server)).statusCode, 200, 'what is known is fresh enough')
  await clock.advance(6_000)
  assert.is((await search(server)).statusCode, 500, 'what others counted is unknown')
  watch.refuses = false
  assert.is(await passing(6, () => search(server)), 3)
  await server.stop()
})

for (const [quota, message] of [
  [{ requests_per_day: 0 }, '[quota] requests_per_day is 0; it takes an integer of at least 1'],
  [{ bytes_per_month: -1 }, '[quota] bytes_per_month is -1; it takes an integer of at least 1'],
  [{ writes_per_day: '10' }, '[quota] writes_per_day is "10"; it takes an integer of at least 1'],
  [{ refresh_seconds: 0 }, '[quota] refresh_seconds is 0; it takes an integer from 1 to 3600'],
  [{ requests_per_week: 1 }, 'requests_per_week'],
  [{ clients: { app: { writes_per_day: -1 } } }, '[quota] clients.app.writes_per_day is -1'],
  [
    { clients: { app: { write_per_day: 1 } } },
    '[quota] clients.app.write_per_day is not a setting; did you mean writes_per_day?',
  ],
] as const)
  test(`[quota] ${JSON.stringify(quota)} is refused`, async () => {
    try {
      // No database is opened.
      await (await serverWith({ plugins, settings: { quota, database: { kind: 'memory' } } })).stop()
    } catch (error) {
      return assert.match((error as Error).message, message)
    }
    assert.unreachable('it started')
  })

test('of a request that another server let pass only the writes are charged here', async () => {
  const received = pluginOf('received', ({ hooks }) =>
    hooks.beforeRequest.tap('receive', (request) => {
      if (request.headers['x-test-received'] !== undefined) request.markReceived()
      return undefined
    }),
  )
  const settings = {
    quota: { requests_per_day: 1, writes_per_day: 2, bytes_per_day: 400 },
    rate_limit: { requests_per_second: 1, burst: 20 },
  }
  const server = await serverWith({ plugins: [...plugins, received], settings, clock: createManualClock() })
  const relayed = () =>
    server.inject({
      method: 'POST',
      url: '/Patient',
      headers: { ...FHIR, 'x-test-client': 'app', 'x-test-received': '1' },
      payload: '{"resourceType":"Patient"}',
    })
  assert.is(await passing(20, relayed), 20)
  const refused = await create(server)
  assert.is(refused.statusCode, 429)
  assert.match(refused.body, /2 writes/)
  assert.is((await search(server)).statusCode, 200)
  await server.stop()
})

test.run()
