/** Token buckets per caller. Spec: [rate_limit]. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { REQUEST_CLASSES } from '../../../kernel/index.ts'
import { createBuckets } from '../../../plugins/limits/buckets.ts'
import { networkOf } from '../../../plugins/limits/caller-key.ts'
import { MAX_BUCKETS } from '../../../plugins/limits/rate-limit.ts'
import { assertRefused } from '../../support/refused.ts'
import { readItem } from '../../support/structured-field.ts'
import { watchedDatabase } from '../../support/watched-database.ts'
import { type Limited, type LimitedOptions, limited } from './limited.ts'

const FIFTY = { rate_limit: { requests_per_second: 50, burst: 100 } }

const withLimits = async (
  work: (server: Limited) => Promise<void>,
  rate_limit: Record<string, unknown> = FIFTY.rate_limit,
  more: Omit<LimitedOptions, 'settings'> = {},
): Promise<void> => {
  const server = await limited({ ...more, settings: { rate_limit } })
  try {
    await work(server)
  } finally {
    await server.kernel.stop()
  }
}

test('of 200 reads at once 100 pass, then 50 each second', () =>
  withLimits(async ({ passing, clock }) => {
    assert.is(await passing(200), 100)
    for (let second = 0; second < 3; second += 1) {
      await clock.advance(1000)
      assert.is(await passing(100), 50)
    }
  }))

for (const [requestClass, count] of [
  ['search', 50],
  ['write', 50],
  ['bundle', 20],
  ['operation', 20],
  ['export', 5],
  ['sync', 20],
  ['admin', 50],
] as const)
  test(`${count} of class ${requestClass} pass at once`, () =>
    withLimits(async ({ passing }) => {
      assert.is(await passing(count + 10, requestClass), count)
    }))

test('costs of classes are settings', () =>
  withLimits(
    async ({ passing }) => {
      assert.is(await passing(30, 'read'), 10)
    },
    { burst: 100, cost: { read: 10 } },
  ))

/** How many pass of three times the limit, asked for evenly over a minute. */
const passingInMinute = async (servers: readonly Limited[], perSecond: number): Promise<number> => {
  let passed = 0
  for (let tick = 0; tick < 600; tick += 1) {
    for (const { ask } of servers)
      for (let n = 0; n < (perSecond * 3) / 10 / servers.length; n += 1)
        if ((await ask('read', { client: 'app' })).statusCode === 200) passed += 1
    await servers[0]?.clock.advance(100)
  }
  return passed
}
const isWithin = (passed: number, expected: number): void =>
  assert.ok(Math.abs(passed - expected) <= expected * 0.02, `${passed} passed, ${expected} are allowed`)

test('in a minute at three times the limit, burst + 60 times the rate pass', () =>
  withLimits(async (server) => isWithin(await passingInMinute([server], 10), 20 + 600), {
    requests_per_second: 10,
    burst: 20,
  }))

test('the same of three servers with servers = 3, together', async () => {
  const settings = { rate_limit: { requests_per_second: 10, burst: 30, servers: 3 } }
  const first = await limited({ settings })
  const { clock } = first
  const servers = [first, await limited({ settings, clock }), await limited({ settings, clock })]
  isWithin(await passingInMinute(servers, 10), 30 + 600)
  for (const { kernel } of servers) await kernel.stop()
})

test('a refusal is 429 with throttled and the time to wait, costs nothing, is small, and asks no database', async () => {
  const { plugin, watch } = watchedDatabase()
  await withLimits(
    async ({ ask, passing, clock }) => {
      await passing(100)
      const asked = watch.asked
      // 20 units at 50 per second: there in 0.4 seconds; told in whole ones.
      const refused = await ask('export', { client: 'app' })
      assertRefused(refused, { status: 429, code: 'throttled' }, 'an export')
      assert.is(refused.headers['retry-after'], '1')
      assert.match(refused.body, 'Try again in 1 second.')
      assert.ok(Buffer.byteLength(refused.body) <= 1024)
      assert.is(await passing(50), 0)
      assert.is(watch.asked, asked)
      await clock.advance(400)
      // Had the fifty cost anything, it would not.
      assert.is((await ask('export', { client: 'app' })).statusCode, 200)
      assert.is((await ask('read', { client: 'app' })).statusCode, 429)
    },
    FIFTY.rate_limit,
    { database: plugin },
  )
})

test('who waits as long as Retry-After says passes', () =>
  withLimits(
    async ({ ask, passing, clock }) => {
      assert.is(await passing(30), 20)
      for (let n = 0; n < 5; n += 1) {
        const refused = await ask('export', { client: 'app' })
        const seconds = Number(refused.headers['retry-after'])
        // 20 units, one in three seconds.
        assert.is(seconds, 60)
        await clock.advance(seconds * 1000)
        assert.is((await ask('export', { client: 'app' })).statusCode, 200)
      }
    },
    { requests_per_second: 1 / 3, burst: 20 },
  ))

test('RateLimit and RateLimit-Policy are structured fields that tell what is left', () =>
  withLimits(async ({ ask, passing }) => {
    await passing(42)
    const { headers } = await ask('read', { client: 'app' })
    assert.is(headers['ratelimit-policy'], '"default";q=100;w=2')
    assert.is(headers.ratelimit, '"default";r=57;t=1')
    assert.equal(readItem(String(headers['ratelimit-policy'])), { value: 'default', parameters: { q: 100, w: 2 } })
    assert.equal(readItem(String(headers.ratelimit)), { value: 'default', parameters: { r: 57, t: 1 } })
    await passing(100)
    const refused = await ask('read', { client: 'app' })
    assert.is(refused.statusCode, 429)
    assert.equal(readItem(String(refused.headers.ratelimit)), { value: 'default', parameters: { r: 0, t: 2 } })
  }))

test('a client with rate 0 is exempt, and one may have a rate of its own', () =>
  withLimits(
    async ({ ask, passing }) => {
      assert.is(await passing(30, 'read', { client: 'free' }), 30)
      assert.not.ok('ratelimit' in (await ask('read', { client: 'free' })).headers)
      assert.is(await passing(60, 'read', { client: 'big' }), 40)
      assert.is(await passing(30, 'read', { client: 'other' }), 20)
      // A client of that name has no entry.
      assert.is(await passing(30, 'read', { client: 'constructor' }), 20)
    },
    { burst: 20, clients: { free: { requests_per_second: 0 }, big: { burst: 40 } } },
  ))

test('users of a client have buckets of their own, and so have clients', () =>
  withLimits(
    async ({ passing }) => {
      for (const who of [
        { client: 'a', user: 'Practitioner/1' },
        { client: 'a', user: 'Practitioner/2' },
        { client: 'a' },
        { client: 'b', user: 'Practitioner/1' },
        { address: '192.0.2.1' },
        { address: '192.0.2.2' },
      ])
        assert.is(await passing(30, 'read', who), who.address === undefined ? 20 : 2, JSON.stringify(who))
    },
    { burst: 20, requests_per_second: 10 },
  ))

test('unset, an address without a token has a tenth where callers have tokens, else the same', async () => {
  const rate_limit = { requests_per_second: 50, burst: 200 }
  const anonymous = { address: '192.0.2.1' }
  await withLimits(async ({ passing, clock }) => {
    assert.is(await passing(300, 'read', anonymous), 20)
    await clock.advance(1000)
    assert.is(await passing(100, 'read', anonymous), 5)
  }, rate_limit)
  await withLimits(
    async ({ passing, clock }) => {
      assert.is(await passing(300, 'read', anonymous), 200)
      await clock.advance(1000)
      assert.is(await passing(100, 'read', anonymous), 50)
    },
    rate_limit,
    { tokens: false },
  )
  await withLimits(
    async ({ passing, clock }) => {
      assert.is(await passing(300, 'read', anonymous), 30)
      await clock.advance(1000)
      assert.is(await passing(100, 'read', anonymous), 7)
    },
    { ...rate_limit, anonymous_requests_per_second: 7, anonymous_burst: 30 },
  )
})

test('setting the clock forward or back by an hour neither fills a bucket nor locks anybody out', () =>
  withLimits(async ({ passing, clock }) => {
    assert.is(await passing(200), 100)
    clock.set(clock.now() + 3_600_000)
    assert.is(await passing(50), 0)
    await clock.advance(1000)
    assert.is(await passing(100), 50)
    clock.set(clock.now() - 7_200_000)
    assert.is(await passing(50), 0)
    await clock.advance(1000)
    assert.is(await passing(100), 50)
  }))

test('an IPv6 network of 64 bits is one caller', () =>
  withLimits(
    async ({ passing }) => {
      const from = (address: string, count: number) => passing(count, 'read', { address })
      assert.is(await from('2001:db8:1:2::1', 15), 15)
      assert.is(await from('2001:db8:1:2:ffff:ffff:ffff:ffff', 15), 5)
      assert.is(await from('2001:db8:1:3::1', 30), 20)
      assert.is(await from('192.0.2.1', 30), 20)
    },
    { burst: 20 },
    { tokens: false },
  ))

for (const [address, network] of [
  ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8:0:0:1::', '2001:db8:0:0::/64'],
  ['1:2:3:4:5:6:7:8', '1:2:3:4::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['192.0.2.1', '192.0.2.1'],
] as const)
  test(`${address} is one caller with all of ${network}`, () => assert.is(networkOf(address), network))

test('a million addresses take a bounded table, from which the full buckets go first', () => {
  let now = 0
  const rate = { perSecond: 10, burst: 100 }
  const buckets = createBuckets(() => now, MAX_BUCKETS)
  const askFrom = (addresses: number): void => {
    for (let n = 0; n < 1_000_000; n += 1) {
      now += 0.01
      const own = n % addresses
      buckets.take(`10.${own >> 16}.${(own >> 8) & 255}.${own & 255}`, rate, 1)
      // Somebody who uses up everything stays known in the crowd.
      if (n % 1000 === 0) buckets.take('busy', rate, Math.max(0, buckets.take('busy', rate, 0).tokens))
    }
  }
  askFrom(1000) // what a million requests cost anyway
  const before = process.memoryUsage().rss
  askFrom(1_000_000)
  const grown = (process.memoryUsage().rss - before) / 1024 / 1024
  assert.is(buckets.size, MAX_BUCKETS)
  assert.ok(grown < 64, `${grown.toFixed(0)} MB`)
  assert.ok(buckets.take('busy', rate, 100).waitMs > 0)
})

test('probes are never limited', () =>
  withLimits(async ({ kernel, passing }) => {
    await passing(200, 'read', {})
    for (let n = 0; n < 300; n += 1)
      for (const url of ['/livez', '/readyz', '/healthz']) {
        const { statusCode, headers } = await kernel.inject(url)
        assert.is(statusCode, 200)
        assert.not.ok('ratelimit' in headers)
      }
  }))

const refusedStart = async (settings: Record<string, unknown>): Promise<string> => {
  try {
    const { kernel } = await limited({ settings })
    await kernel.stop()
  } catch (error) {
    return (error as Error).message
  }
  return 'it started'
}

for (const [rate_limit, message] of [
  [
    { burst: 19 },
    '[rate_limit] burst = 19 is less than the dearest cost, [rate_limit.cost] export = 20; such a request could never pass.',
  ],
  [
    { burst: 100, cost: { bundle: 101 } },
    '[rate_limit] burst = 100 is less than the dearest cost, [rate_limit.cost] bundle = 101;',
  ],
  [{ anonymous_burst: 5 }, '[rate_limit] anonymous_burst = 5 is less than the dearest cost'],
  [{ clients: { app: { burst: 5 } } }, '[rate_limit.clients.app] burst = 5 is less than the dearest cost'],
  [{ requests_per_second: -1 }, '[rate_limit] requests_per_second is -1; it takes a number above 0'],
  [{ requests_per_second: 0 }, '[rate_limit] requests_per_second is 0; it takes a number above 0'],
  [{ requests_per_second: Number.NaN }, '[rate_limit] requests_per_second is NaN; it takes a number above 0'],
  [{ requests_per_second: '50' }, '[rate_limit] requests_per_second is "50"; it takes a number above 0'],
  [{ burst: Number.POSITIVE_INFINITY }, '[rate_limit] burst is Infinity; it takes a number above 0'],
  [{ burst: '100' }, '[rate_limit] burst is "100"; it takes a number above 0'],
  [{ cost: { read: -1 } }, '[rate_limit.cost] read is -1; it takes a number of at least 0'],
  [{ cost: { reed: 1 } }, 'reed'],
  [{ servers: 0 }, '[rate_limit] servers is 0; it takes an integer of at least 1'],
  [
    { auth_failures_per_minute: 1.5 },
    '[rate_limit] auth_failures_per_minute is 1.5; it takes an integer from 1 to 100000',
  ],
  [{ max_sync_connections: 0 }, '[rate_limit] max_sync_connections is 0'],
  [{ max_live_queries: 'x' }, '[rate_limit] max_live_queries is "x"'],
  [{ anonymous_requests_per_second: 0 }, '[rate_limit] anonymous_requests_per_second is 0'],
  [{ clients: { app: { requests_per_second: -1 } } }, '[rate_limit] clients.app.requests_per_second is -1'],
  [{ clients: { app: { brust: 1 } } }, '[rate_limit] clients.app.brust is not a setting; did you mean burst?'],
  [{ enabled: 'yes' }, '[rate_limit] enabled is "yes"; it takes true or false'],
] as const)
  test(`[rate_limit] ${JSON.stringify(rate_limit, (_key, value) => (Number.isFinite(value) || typeof value !== 'number' ? value : String(value)))} is refused`, async () => {
    assert.match(await refusedStart({ rate_limit }), message)
  })

test('without its sections the plugin is off: nothing is tapped, provided or said in an answer', async () => {
  for (const [settings, taps] of [
    [{}, []],
    [{ rate_limit: { enabled: false }, quota: { enabled: false, requests_per_day: 1 } }, []],
    [{ rate_limit: {} }, ['admit: limit']],
    // The section is written with one of its parts.
    [{ rate_limit: { cost: { read: 2 } } }, ['admit: limit']],
    [{ quota: {} }, []],
    [{ quota: { requests_per_day: 1000 } }, ['admit: limit', 'meter: count bytes']],
    [{ quota: { writes_per_day: 1000 } }, ['admit: limit', 'onCommit: count writes', 'meter: count bytes']],
    [{ rate_limit: {}, quota: { bytes_per_day: 1000 } }, ['admit: limit', 'meter: count bytes']],
  ] as const) {
    const { kernel, ask } = await limited({ settings })
    const plugin = (await kernel.describe()).find(({ name }) => name === 'limits')
    assert.equal(plugin?.hooks, taps, JSON.stringify(settings))
    assert.equal(plugin?.routes, [])
    assert.is('ratelimit' in (await ask('read')).headers, 'rate_limit' in settings && taps.length > 0)
    await kernel.stop()
  }
})

test('every class of request has a cost', () =>
  withLimits(async ({ ask }) => {
    for (const requestClass of REQUEST_CLASSES) {
      const { headers } = await ask(requestClass, { client: requestClass })
      assert.match(String(headers.ratelimit), /^"default";r=(9[589]|80);t=1$/, requestClass)
    }
  }))

test.run()
