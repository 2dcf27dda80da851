/** Long queries of transactions on a SQLite file: what they see, what goes on beside them, and when they end. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Clock, createKernel, definePlugin, systemClock } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { Database, type DeferredInsert, eachRow, sql } from '../../../plugins/database/service.ts'
import { sqliteKind } from '../../support/database-kinds.ts'

const notes = definePlugin({
  name: 'notes',
  needs: { database: Database },
  migrations: [
    { name: 'notes/0001-note', sql: ['CREATE TABLE note (id integer PRIMARY KEY)', 'CREATE TABLE word (id integer)'] },
  ],
  setup: () => undefined,
})
const insert = sql('test.insert', 'INSERT INTO note (id) VALUES (?)')
const words: DeferredInsert = {
  table: 'word',
  width: 1,
  counts: [sql('test.word', 'INSERT INTO word (id) VALUES (?)')],
}
/** Counts the rows of both tables, and goes through so many numbers meanwhile. */
const countSlowly = sql(
  'test.count-slowly',
  `WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ?) SELECT (SELECT count(*) FROM note) AS notes, (SELECT count(*) FROM word) AS words, count(*) AS n FROM c WHERE n > 0 ${eachRow('c.n')}`,
)
interface Counted {
  readonly notes: number
  readonly words: number
}
const MOMENT = 800_000 // two tenths of a second
const MINUTES = 1_000_000_000

const opened = async (clock: Clock = systemClock) => {
  const { settings, remove } = await sqliteKind.fresh()
  const kernel = await createKernel({ plugins: [database, notes], settings, clock, log: { level: 'silent' } })
  await kernel.start()
  return {
    db: kernel.get(Database),
    async close() {
      await kernel.stop()
      await remove()
    },
  }
}

/** Returns the longest time in which nothing else ran, in milliseconds, while `work` went on. */
const longestTurn = async (work: Promise<unknown>): Promise<number> => {
  let isOver = false
  const over = work.finally(() => {
    isOver = true
  })
  let longest = 0
  let last = performance.now()
  while (!isOver) {
    await new Promise(setImmediate)
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
  }
  await over
  return longest
}

/** A clock on which a minute passes in a second and a half. */
const fast: Clock = {
  ...systemClock,
  monotonic: () => systemClock.monotonic() * 40,
  deadline: (ms) => systemClock.deadline(ms / 40),
}
const keyOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: { key: string }) => error.key,
  )

test('a query of a transaction that has written nothing holds up no other work, and sees all that was committed', async () => {
  const { db, close } = await opened()
  await db.transact((transaction) => transaction.run(insert, [1]))
  await db.transact((transaction) => transaction.insertDeferred(words, [1]))
  let started = 0
  let took = 0
  const counted = db.transact(async (transaction) => {
    started = performance.now()
    const rows = await transaction.longQuery<Counted>(countSlowly, [MOMENT])
    took = performance.now() - started
    return rows
  })
  const longest = await longestTurn(counted)
  assert.ok(longest < took / 2, `${longest} ms of ${took}`)
  const [row] = await counted
  assert.equal({ notes: row?.notes, words: row?.words }, { notes: 1, words: 1 })
  await close()
})

test('it holds up no other work behind changes of others that share its COMMIT, which it sees', async () => {
  const { db, close } = await opened()
  let runs = 0
  let took = 0
  const before = [1, 2].map((id) =>
    db.transact((transaction) => {
      transaction.run(insert, [id])
      return transaction.insertDeferred(words, [id])
    }),
  )
  const counted = db.transact(async (transaction) => {
    runs += 1
    const started = performance.now()
    const rows = await transaction.longQuery<Counted>(countSlowly, [MOMENT])
    took = performance.now() - started
    transaction.run(insert, [9])
    return rows
  })
  const behind = db.transact((transaction) => transaction.run(insert, [3]))
  const longest = await longestTurn(counted)
  await Promise.all([...before, behind])
  assert.ok(longest < took / 2, `${longest} ms of ${took}`)
  const [row] = await counted
  assert.equal({ notes: row?.notes, words: row?.words }, { notes: 2, words: 2 })
  assert.is(runs, 2, 'once behind the others, and once as the first of its COMMIT')
  const [now] = await db.longQuery<Counted>(countSlowly, [1])
  assert.is(now?.notes, 4)
  await close()
})

test('it runs again, too, where the work would go on without the answer', async () => {
  const { db, close } = await opened()
  const before = db.transact((transaction) => transaction.run(insert, [1]))
  const counted = db.transact(async (transaction) => {
    const rows = await transaction.longQuery<Counted>(countSlowly, [1]).catch(() => undefined)
    await transaction.run(insert, [2])
    return rows
  })
  const behind = db.transact((transaction) => transaction.run(insert, [3]))
  const [row] = (await counted) ?? []
  assert.is(row?.notes, 1)
  await Promise.all([before, behind])
  const [now] = await db.longQuery<Counted>(countSlowly, [1])
  assert.is(now?.notes, 3)
  await close()
})

test('a query behind changes of its own transaction sees them', async () => {
  const { db, close } = await opened()
  const [row] = await db.transact(async (transaction) => {
    await transaction.run(insert, [1])
    await transaction.insertDeferred(words, [1])
    return transaction.longQuery<Counted>(countSlowly, [1])
  })
  assert.equal({ notes: row?.notes, words: row?.words }, { notes: 1, words: 1 })
  await close()
})

for (const wrote of [false, true])
  test(`queries of a transaction that has ${wrote ? '' : 'not '}written end after their time, and nothing of it is stored`, async () => {
    const { db, close } = await opened(fast)
    const long = db.transact(async (transaction) => {
      if (wrote) await transaction.run(insert, [1])
      await transaction.longQuery(countSlowly, [10])
      return transaction.longQuery(countSlowly, [MINUTES])
    })
    const behind = db.transact((transaction) => transaction.run(insert, [2]))
    assert.is(await keyOf(long), 'database/transaction-queries-too-long')
    await behind
    const [now] = await db.longQuery<Counted>(countSlowly, [1])
    assert.is(now?.notes, 1)
    await close()
  })

test('a query of a transaction ends when its client leaves, and none begins afterwards', async () => {
  const { db, close } = await opened()
  const client = new AbortController()
  const asked = Promise.withResolvers<void>()
  const left = db.transact(async (transaction) => {
    const query = transaction.longQuery(countSlowly, [MINUTES], client.signal)
    asked.resolve()
    return query
  })
  await asked.promise
  client.abort()
  assert.is(await keyOf(left), 'database/query-cancelled')
  const late = db.transact(async (transaction) => {
    await transaction.run(insert, [1])
    return transaction.longQuery(countSlowly, [MINUTES], client.signal)
  })
  assert.is(await keyOf(late), 'database/query-cancelled')
  const [now] = await db.longQuery<Counted>(countSlowly, [1])
  assert.is(now?.notes, 0)
  await close()
})

test.run()
