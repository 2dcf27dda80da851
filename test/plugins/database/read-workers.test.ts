/** Reader threads: a cancelled query takes nobody else's with it. */
import { getEventListeners } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { systemClock } from '../../../kernel/index.ts'
import { eachRow, sql } from '../../../plugins/database/service.ts'
import { createReadWorkers } from '../../../plugins/database/sqlite/read-workers.ts'
import { cpuTime } from '../../support/cpu-time.ts'
import { temporaryFolder } from '../../support/database-kinds.ts'
import { createManualClock } from '../../support/manual-clock.ts'
import { until } from '../../support/until.ts'

const folder = temporaryFolder()
const path = join(folder.path, 'readers.sqlite')
test.before(() => {
  const handle = new BetterSqlite(path)
  handle.exec('CREATE TABLE t (n integer); INSERT INTO t VALUES (1), (2), (3)')
  handle.close()
})
test.after(() => folder.remove())

const short = sql('test.short', 'SELECT n FROM t ORDER BY n')
/** Takes a second or more, and has no mark at which it could be cancelled. */
const unmarked = sql(
  'test.unmarked',
  'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 2000000) SELECT count(*) AS n FROM c',
)
/** Takes minutes. */
const long = sql(
  'test.long',
  `WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000000000) SELECT count(*) AS n FROM c WHERE n > 0 ${eachRow('c.n')}`,
)

test('a query cancelled just as its answer arrives leaves the ones behind it alone', async () => {
  const workers = createReadWorkers(path, 1, 2_048, systemClock)
  let cancelled = 0
  for (let turn = 0; turn < 20; turn += 1) {
    const controller = new AbortController()
    const first = workers.all(short, [], controller.signal).catch(() => {
      cancelled += 1
    })
    const others = [workers.all<{ n: number }>(short, []), workers.all<{ n: number }>(short, [])]
    // At another moment each time, some of them between the answer's leaving the thread and its arrival here.
    const until = performance.now() + (turn % 20) * 0.1 + (turn === 0 ? 100 : 0)
    while (performance.now() < until);
    controller.abort()
    await first
    for (const rows of await Promise.all(others)) assert.equal(rows, [{ n: 1 }, { n: 2 }, { n: 3 }])
  }
  assert.ok(cancelled > 0)
  await workers.close()
})

test('a query that has ended leaves no listener on its signal, which would keep its rows in memory', async () => {
  const workers = createReadWorkers(path, 1, 2_048, systemClock)
  const { signal } = new AbortController()
  const listeners = (): number => getEventListeners(signal, 'abort').length
  const running = workers.all(short, [], signal)
  assert.is(listeners(), 1)
  await running
  assert.is(listeners(), 0)
  await workers.all(sql('test.bad', 'SELECT n FROM nothing'), [], signal).catch(() => undefined)
  assert.is(listeners(), 0)
  await workers.close()
})

const cancelledKey = (query: Promise<unknown>): Promise<string> =>
  query.then(
    () => 'done',
    (error: { key: string }) => error.key,
  )

test('a cancelled query is answered at once, and the next one gets its thread', async () => {
  const workers = createReadWorkers(path, 1, 2_048, systemClock)
  const controller = new AbortController()
  const first = cancelledKey(workers.all(long, [], controller.signal))
  const next = workers.all<{ n: number }>(short, [])
  controller.abort()
  assert.is(await first, 'database/query-cancelled')
  assert.is((await next).length, 3)
  await workers.close()
})

test('a query whose statement cannot be cancelled holds up no other for longer than a moment', async () => {
  const clock = createManualClock()
  let made = 0
  const count = (): void => {
    made += 1
  }
  process.on('worker', count)
  const workers = createReadWorkers(path, 1, 2_048, clock)
  const controller = new AbortController()
  const first = cancelledKey(workers.all(unmarked, [], controller.signal))
  controller.abort()
  assert.is(await first, 'database/query-cancelled')
  const next = workers.all<{ n: number }>(short, [])
  assert.equal(workers.status, { size: 1, busy: 1, waiting: 1 })
  await clock.advance(100)
  assert.is((await next).length, 3)
  for (let n = 0; n < 3; n += 1) assert.is((await workers.all(short, [])).length, 3)
  process.off('worker', count)
  assert.is(made, 2, 'one more thread, which is used again')
  await workers.close()
})

const THREADS = '/proc/self/task'
const onLinux = existsSync(THREADS) ? test : test.skip
const threads = (): number => readdirSync(THREADS).length

onLinux('clients that leave one after the other, each while its query runs or waits, take no thread each', async () => {
  const workers = createReadWorkers(path, 2, 2_048, systemClock)
  await Promise.all([workers.all(short, []), workers.all(short, [])])
  const before = threads()
  const controllers = Array.from({ length: 50 }, () => new AbortController())
  const queries = controllers.map(({ signal }) => cancelledKey(workers.all(long, [], signal)))
  let most = 0
  for (const [at, controller] of controllers.entries()) {
    controller.abort()
    assert.is(await queries[at], 'database/query-cancelled')
    await new Promise(setImmediate)
    most = Math.max(most, threads())
  }
  assert.ok(most <= before + 2, `${most} threads, ${before} before`)
  assert.is((await workers.all<{ n: number }>(short, [])).length, 3)
  await workers.close()
})

test('a cancelled query ends while it would run for minutes, and closing waits for no more', async () => {
  const workers = createReadWorkers(path, 1, 2_048, systemClock)
  await workers.all(short, [])
  const controller = new AbortController()
  const running = cancelledKey(workers.all(long, [], controller.signal))
  const started = cpuTime()
  await until(() => cpuTime() > started + 100, 10_000, 'the query')
  controller.abort()
  assert.is(await running, 'database/query-cancelled')
  await until(() => workers.status.busy === 0, 10_000, 'the end of the query')
  const other = cancelledKey(workers.all(long, []))
  await workers.close()
  assert.is(await other, 'database/query-cancelled')
})

test.run()
