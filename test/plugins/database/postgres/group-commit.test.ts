/** Transactions that only write share a COMMIT on PostgreSQL, and none pays for what another one does. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel, definePlugin, type Kernel } from '../../../../kernel/index.ts'
import database from '../../../../plugins/database/index.ts'
import { type CommitParticipant, Database, sql } from '../../../../plugins/database/service.ts'
import { type Postgres, startPostgres } from '../../../support/postgres.ts'
import { countSyncs } from '../../../support/round-trips.ts'
import { startTcpProxy, type TcpProxy } from '../../../support/tcp-proxy.ts'
import { until } from '../../../support/until.ts'

const MANY = 60

const notes = definePlugin({
  name: 'notes',
  migrations: [
    {
      name: 'notes/0001-note',
      sql: [
        'CREATE TABLE note (id integer PRIMARY KEY)',
        'CREATE TABLE line (seq integer PRIMARY KEY, id integer NOT NULL)',
      ],
    },
  ],
  setup: () => undefined,
})
const insert = sql('test.insert', 'INSERT INTO note (id) VALUES (?)')
const find = sql('test.find', 'SELECT id FROM note WHERE id = ?')
const lock = sql('test.lock', 'SELECT id FROM note WHERE id = ? FOR UPDATE')
const change = sql('test.change', 'UPDATE note SET id = id WHERE id = ?')
const ids = sql('test.ids', 'SELECT id FROM note ORDER BY id')
const lines = sql('test.lines', 'SELECT seq, id FROM line ORDER BY seq')
const append = sql('test.append', 'INSERT INTO line (seq, id) VALUES (?, ?)')
const last = sql('test.last', 'SELECT max(seq) AS seq FROM line')
const clear = sql('test.clear', 'TRUNCATE note, line')
const sleep = sql('test.sleep', 'SELECT pg_sleep(1)')
const checkFound = sql('test.check', 'SELECT 1 / (count(*) = 1)::int FROM note WHERE id = ?')

let server: Postgres
let proxy: TcpProxy
let kernel: Kernel
let db: Database

test.before(async () => {
  server = await startPostgres()
  proxy = await startTcpProxy(server.port)
  await server.createDatabase('shared')
  const url = server.url(undefined, 'shared').replace(`:${server.port}`, `:${proxy.port}`)
  kernel = await createKernel({
    plugins: [database, notes],
    settings: { database: { kind: 'postgres', postgres_url: url }, cluster: { db_pool: 5 } }, // one of them is that of the writer lease
    log: { level: 'silent' },
  })
  await kernel.start()
  db = kernel.get(Database)
})
test.after(async () => {
  await kernel?.stop()
  proxy?.stop()
  await server?.stop()
})
test.before.each(async () => {
  proxy.onClient = () => 'pass'
  await db.transact((transaction) => transaction.run(clear, []))
})

const write = (id: number): Promise<unknown> => db.transact((transaction) => transaction.run(insert, [id]))
const writeMany = (): Promise<unknown>[] => Array.from({ length: MANY }, (_, id) => write(id))
const stored = async (): Promise<number[]> => (await db.all<{ id: number }>(ids, [])).map(({ id }) => id)
const all = Array.from({ length: MANY }, (_, id) => id)
const keyOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error) => error.key ?? error.code ?? error.message,
  )
/** Numbers what it is given without gaps, as if nobody else did. */
const createLines = () => {
  let known: number | undefined
  let next: number | undefined
  const closing: CommitParticipant<number> & { calls: number } = {
    calls: 0,
    async beforeCommit(transaction, items) {
      closing.calls += 1
      next = known ?? (await transaction.get<{ seq: number | null }>(last, []))?.seq ?? 0
      for (const id of items) {
        next += 1
        await transaction.run(append, [next, id])
      }
    },
    finished(committed) {
      known = committed ? next : undefined
    },
    refuse: (cause) => cause as never,
  }
  return closing
}
const leave = (participant: CommitParticipant<number>, id: number): Promise<unknown> =>
  db.transact((transaction) => {
    transaction.beforeCommit(participant, id)
    return transaction.run(insert, [id])
  })
const checkLines = async (): Promise<void> => {
  const found = await db.all<{ seq: number; id: number }>(lines, [])
  assert.equal(
    found.map(({ seq }) => seq),
    found.map((_, at) => at + 1),
  )
  assert.equal(
    found.map(({ id }) => id).sort((one, other) => one - other),
    await stored(),
  )
}

test('transactions that come together share round trips and COMMITs', async () => {
  await write(1_000)
  const { transactions, groups } = db.status().commits
  proxy.taken()
  await Promise.all(writeMany())
  const now = db.status().commits
  assert.is(now.transactions - transactions, MANY)
  assert.ok(now.groups - groups <= 4, `${now.groups - groups} groups`)
  assert.ok(countSyncs(proxy.taken()) <= 6)
  assert.equal(await stored(), [...all, 1_000])
})

test('one that fails undoes itself alone, and hears why', async () => {
  await write(7)
  const outcomes = await Promise.all(writeMany().map(keyOf))
  assert.equal(
    outcomes,
    all.map((id) => (id === 7 ? 'database/conflict' : 'done')),
  )
  assert.equal(await stored(), all)
})

test('what is taken for granted costs no question, and where it is not so it is asked for', async () => {
  await write(1_000)
  const told: boolean[] = []
  const referTo = (target: number, id: number): Promise<unknown> =>
    db.transact(async (transaction) => {
      const isSure = transaction.assertOptimistically(checkFound, [target])
      told.push(isSure)
      if (!isSure && (await transaction.get(find, [target])) === undefined) throw new Error(`no ${target}`)
      await transaction.run(insert, [id])
    })
  await referTo(1_000, 1)
  assert.equal(told, [true])
  const [wrong, ...others] = await Promise.all([referTo(999, 2), referTo(1_000, 3), write(4)].map(keyOf))
  assert.is(wrong, 'no 999')
  assert.equal(others, ['done', 'done'])
  // Asked something later, it is found out with that question.
  const asks = db.transact(async (transaction) => {
    if (!transaction.assertOptimistically(checkFound, [999])) throw new Error('told')
    return transaction.get(find, [1])
  })
  assert.is(await keyOf(asks), 'told')
  assert.equal(await stored(), [1, 3, 4, 1_000])
})

test('one that refuses itself after taking something for granted asks before it does', async () => {
  const told: boolean[] = []
  const refused = db.transact((transaction) => {
    told.push(transaction.assertOptimistically(checkFound, [999]))
    throw new Error(`told ${told.at(-1)}`)
  })
  assert.is(await keyOf(refused), 'told false')
  assert.equal(told, [true, false])
})

test('a slow one keeps those that come later waiting for a moment only', async () => {
  const slow = db.transact((transaction) => transaction.run(sleep, []))
  const alsoSlow = db.transact((transaction) => transaction.run(sleep, []))
  await new Promise(setImmediate)
  await new Promise(setImmediate)
  let isSlowDone = false
  const both = Promise.all([slow, alsoSlow]).then(() => {
    isSlowDone = true
  })
  await Promise.all(writeMany())
  assert.not.ok(isSlowDone)
  await both
})

test('a connection lost during a shared COMMIT is an unknown outcome for each of them', async () => {
  await write(1_000)
  proxy.onClient = (chunk) => (chunk.includes('test.insert') ? 'cut' : 'pass')
  const outcomes = new Set(await Promise.all([write(1), write(2), write(3)].map(keyOf)))
  proxy.onClient = () => 'pass'
  assert.equal([...outcomes], ['database/commit-unknown'])
  await until(async () => (await stored()).length === 4, 5_000, 'the commits that were not heard of')
})

test('what they leave for the end is written once for all of them', async () => {
  const closing = createLines()
  await Promise.all(all.map((id) => leave(closing, id)))
  assert.ok(closing.calls <= 4, `${closing.calls} calls`)
  await checkLines()
})

test('another server that wrote its end in between is found out, and all go through', async () => {
  const [mine, others] = [createLines(), createLines()]
  await leave(mine, 1_000)
  await leave(others, 1_001)
  const before = mine.calls
  await Promise.all(all.map((id) => leave(mine, id)))
  assert.ok(mine.calls - before <= 6, `${mine.calls - before} calls`)
  await checkLines()
})

test('one that fails is left out of the end as well', async () => {
  const closing = createLines()
  await leave(closing, 7)
  const outcomes = await Promise.all(all.map((id) => keyOf(leave(closing, id))))
  assert.is(outcomes.filter((outcome) => outcome === 'done').length, MANY - 1)
  await checkLines()
})

test('a row that somebody holds who waits behind them holds them up for half a second, not for good', async () => {
  const closing = createLines()
  await write(1_000)
  const locked = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const holder = db.transact(async (transaction) => {
    await transaction.get(lock, [1_000])
    locked.resolve()
    await goOn.promise
    transaction.beforeCommit(closing, 1_000)
  })
  await locked.promise
  const started = performance.now()
  const blocked = db.transact((transaction) => {
    transaction.beforeCommit(closing, 1)
    transaction.run(change, [1_000])
    return transaction.run(insert, [1])
  })
  const waiting = 'SELECT count(*)::int AS n FROM pg_locks WHERE NOT granted'
  await until(async () => (await server.admin(waiting))[0]?.n > 0, 2_000, 'one to wait for the row')
  goOn.resolve()
  await Promise.all([holder, blocked])
  assert.ok(performance.now() - started < 2_000)
  await checkLines()
})

test('one that wrote nothing itself and has to run alone waits for a session before its turn, not in it', async () => {
  const participant: CommitParticipant<number> = {
    beforeCommit: async (transaction) => void (await transaction.get(find, [1])),
    finished: () => undefined,
    refuse: (cause) => cause as never,
  }
  await Promise.all([1, 2, 3, 7].map(write))
  const turn = Promise.withResolvers<void>()
  const hold = (id: number, locked?: () => void): Promise<unknown> =>
    db.transact(async (transaction) => {
      await transaction.get(lock, [id])
      locked?.()
      await turn.promise
      transaction.beforeCommit(participant, id)
    })
  // Of four sessions three are for transactions: two are held here, the third goes from the group to the last holder.
  const holders = await Promise.all(
    [1, 2].map(
      (id) =>
        new Promise<{ readonly done: Promise<unknown> }>((resolve) => {
          const done = hold(id, () => resolve({ done }))
        }),
    ),
  )
  let runs = 0
  const started = performance.now()
  const bare = db.transact((transaction) => {
    runs += 1
    if (runs === 2) setImmediate(turn.resolve)
    transaction.beforeCommit(participant, 0)
  })
  const wrong = db.transact((transaction) => {
    transaction.beforeCommit(participant, 7)
    return transaction.run(insert, [7])
  })
  void bare.finally(turn.resolve).catch(() => undefined)
  // The group has the third session.
  while (db.status().pool.busy < 3) await new Promise(setImmediate)
  const last = hold(3)
  const outcomes = await Promise.all([bare, wrong, last, ...holders.map(({ done }) => done)].map(keyOf))
  assert.equal(outcomes, ['done', 'database/conflict', 'done', 'done', 'done'])
  assert.is(runs, 2)
  assert.ok(performance.now() - started < 2_000)
})

test.run()
