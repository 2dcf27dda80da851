/** Servers that share the limits count one another through the database. Spec: [rate_limit] servers. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import limits from '../../../plugins/limits/index.ts'
import { databaseKinds } from '../../support/database-kinds.ts'
import { createManualClock, type ManualClock } from '../../support/manual-clock.ts'
import { until } from '../../support/until.ts'
import { type DatabaseWatch, watchedDatabase } from '../../support/watched-database.ts'
import { writersTogether } from '../../support/writers-together.ts'
import { type Limited, limited } from './limited.ts'

const RATE = 50
const BURST = 100
const BEAT_MS = 10_000

interface Passing {
  readonly clock: ManualClock
  pass(ms: number): Promise<void>
}

/** The burst a server tells of: its part. */
const partOf = async ({ ask }: Limited): Promise<number> => {
  const { headers } = await ask('read', { client: `asker-${Math.random()}` })
  return Number(/q=(\d+)/.exec(String(headers['ratelimit-policy']))?.[1])
}

for (const kind of databaseKinds().filter(({ name }) => name !== 'memory')) {
  const withPlace = async (
    work: (server: () => Promise<Limited>, clock: Passing) => Promise<void>,
    rate_limit: Record<string, unknown> = {},
  ): Promise<void> => {
    const place = await kind.fresh([writersTogether, limits])
    const clock = createManualClock()
    const servers: Limited[] = []
    const watches: DatabaseWatch[] = []
    const isIdle = (): boolean => watches.every(({ busy }) => busy === 0)
    /** Second by second, with time for each heartbeat to come back from the database. */
    const pass = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 1000) {
        await clock.advance(1000)
        if (!isIdle()) await until(isIdle, 5_000, 'heartbeats')
        await new Promise(setImmediate)
      }
    }
    const settings = { ...place.settings, rate_limit: { requests_per_second: RATE, burst: BURST, ...rate_limit } }
    const server = async (): Promise<Limited> => {
      const { plugin, watch } = watchedDatabase(writersTogether)
      const made = await limited({ settings, clock, database: plugin })
      watches.push(watch)
      servers.push(made)
      return made
    }
    try {
      await work(server, { clock, pass })
    } finally {
      for (const { kernel } of servers) await kernel.stop()
      await place.remove()
    }
  }

  test(`on ${kind.name} a server alone has all of the limit at once`, () =>
    withPlace(async (server) => {
      const { passing } = await server()
      assert.is(await passing(200), BURST)
    }))

  // A SQLite file has one server.
  if (kind.name === 'sqlite') continue

  test(`on ${kind.name} parts move within 20 seconds when a server joins, and together they never exceed the limit by more than a burst`, () =>
    withPlace(async (server, { clock, pass }) => {
      const servers = [await server(), await server()]
      await pass(2 * BEAT_MS + 5_000)
      for (const one of servers) assert.is(await partOf(one), 50)
      let passed = 0
      let started = clock.monotonic()
      // All of them are asked for more than they may give, all the time.
      const flood = async (ms: number): Promise<void> => {
        for (let at = 0; at < ms; at += 1000) {
          for (const one of servers) passed += await one.passing(RATE + 10)
          await pass(1000)
        }
      }
      await flood(5_000)
      servers.push(await server())
      await flood(30_000)
      const allowed = (RATE * (clock.monotonic() - started)) / 1000 + BURST
      assert.ok(passed <= allowed + BURST, `${passed} passed, ${allowed} and a burst are allowed`)
      // For ten seconds at most nobody gives the part of the one that joins.
      const missing = (10 * RATE) / 3 + BURST / 3
      assert.ok(passed >= allowed - missing - RATE, `${passed} passed, of ${allowed}`)
      for (const one of servers) assert.is(await partOf(one), 33)
      // All three give their part now.
      passed = 0
      started = clock.monotonic()
      await flood(10_000)
      assert.ok(Math.abs(passed - RATE * 10) <= RATE, `${passed} passed`)
    }))

  test(`on ${kind.name} the parts of a server that dies go to the others within 30 seconds`, () =>
    withPlace(async (server, { pass }) => {
      const first = await server()
      const { kernel } = await server()
      await pass(2 * BEAT_MS)
      assert.is(await partOf(first), 50)
      // A crash leaves its row; a stop takes it along.
      const { Database, sql } = await import('../../../plugins/database/service.ts')
      const rows = sql('test.servers', 'SELECT server, beat FROM limits_server ORDER BY server')
      const left = await first.kernel.get(Database).all<{ server: string; beat: number }>(rows, [])
      await kernel.stop()
      const insert = sql('test.server', 'INSERT INTO limits_server (server, beat) VALUES (?, ?) ON CONFLICT DO NOTHING')
      for (const { server: id, beat } of left)
        await first.kernel
          .get(Database)
          .transact(async (transaction) => void (await transaction.run(insert, [id, beat])))
      await pass(10_000)
      assert.is(await partOf(first), 50, 'it may only be slow')
      await pass(20_000)
      assert.is(await partOf(first), 100)
      await pass(60_000)
      await until(
        async () => (await first.kernel.get(Database).all(rows, [])).length === 1,
        5_000,
        'the row of the dead server to be removed',
      )
    }))

  test(`on ${kind.name} the part of a server that stops is shared at the next heartbeat`, () =>
    withPlace(async (server, { pass }) => {
      const first = await server()
      const { kernel } = await server()
      await pass(2 * BEAT_MS)
      await kernel.stop()
      await pass(BEAT_MS)
      assert.is(await partOf(first), 100)
    }))

  test(`on ${kind.name} servers = 1 counts nobody`, () =>
    withPlace(
      async (server, { pass }) => {
        const servers = [await server(), await server()]
        await pass(2 * BEAT_MS)
        for (const one of servers) assert.is(await partOf(one), 100)
      },
      { servers: 1 },
    ))
}

test('a part of a burst that is less than one dear request pays for it and owes the rest', async () => {
  const settings = { rate_limit: { requests_per_second: 10, burst: 20, servers: 4 } }
  const { kernel, passing, clock, ask } = await limited({ settings })
  assert.is(await passing(3, 'export'), 1)
  const refused = await ask('export', { client: 'app' })
  // It owes 15 and needs 5 to begin with, at 2.5 per second.
  assert.is(refused.headers['retry-after'], '8')
  await clock.advance(7_900)
  assert.is(await passing(1, 'export'), 0)
  await clock.advance(100)
  assert.is(await passing(2, 'export'), 1)
  await kernel.stop()
})

test.run()
