/** Transactions on PostgreSQL: how many round trips they take, and what is left when they fail. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel, definePlugin, type Kernel } from '../../../../kernel/index.ts'
import database from '../../../../plugins/database/index.ts'
import { Database, sql, type Transaction } from '../../../../plugins/database/service.ts'
import { type Postgres, startPostgres } from '../../../support/postgres.ts'
import { countTrips, SYNC } from '../../../support/round-trips.ts'
import { startTcpProxy, type TcpProxy } from '../../../support/tcp-proxy.ts'
import { until } from '../../../support/until.ts'

const notes = definePlugin({
  name: 'notes',
  migrations: [
    {
      name: 'notes/0001-note',
      sql: [
        'CREATE TABLE note (id integer PRIMARY KEY, text varchar(2000) NOT NULL)',
        'CREATE TABLE part (note integer NOT NULL REFERENCES note (id) DEFERRABLE INITIALLY DEFERRED)',
      ],
    },
  ],
  setup: () => undefined,
})
const insert = sql('test.insert', 'INSERT INTO note (id, text) VALUES (?, ?)')
const part = sql('test.part', 'INSERT INTO part (note) VALUES (?)')
const update = sql('test.update', 'UPDATE note SET text = ? WHERE id = ?')
const find = sql('test.find', 'SELECT text FROM note WHERE id = ?')
const lock = sql('test.lock', 'SELECT text FROM note WHERE id = ? FOR UPDATE')
const count = sql('test.count', 'SELECT count(*) AS count FROM note')
const fail = sql('test.fail', 'SELECT fail(?)')
const clear = sql('test.clear', 'TRUNCATE note, part')

let server: Postgres
let proxy: TcpProxy
let kernel: Kernel
let db: Database

test.before(async () => {
  server = await startPostgres()
  proxy = await startTcpProxy(server.port)
  await server.createDatabase('work')
  const url = server.url(undefined, 'work').replace(`:${server.port}`, `:${proxy.port}`)
  kernel = await createKernel({
    plugins: [database, notes],
    settings: { database: { kind: 'postgres', postgres_url: url }, cluster: { db_pool: 4 } },
    log: { level: 'silent' },
  })
  await kernel.start()
  db = kernel.get(Database)
  await db.transact(async (transaction) => {
    await transaction.all(
      sql(
        'test.function',
        "CREATE FUNCTION fail(code text) RETURNS int LANGUAGE plpgsql AS $f$ BEGIN RAISE EXCEPTION 'told to' USING ERRCODE = code; END $f$",
      ),
      [],
    )
  })
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

const rows = async (): Promise<number> => (await db.get<{ count: number }>(count, []))!.count
/** Round trips of the work, once its statements are prepared on the one session it gets. */
const roundTrips = async (work: (transaction: Transaction) => Promise<unknown>): Promise<number> => {
  for (let round = 0; round < 2; round += 1) {
    proxy.taken()
    await db.transact(work)
  }
  return countTrips(proxy)
}
const keyOf = (work: unknown): Promise<string> =>
  Promise.resolve(work).then(
    () => 'done',
    (error) => error.key ?? error.code ?? error.message,
  )

test('a transaction that only writes is one round trip; each question adds one', async () => {
  let id = 0
  const write = async (transaction: Transaction, many: number): Promise<void> => {
    for (let n = 0; n < many; n += 1) {
      id += 1
      await transaction.run(insert, [id, 'x'])
    }
  }
  assert.is(await roundTrips((transaction) => write(transaction, 1)), 1)
  assert.is(await roundTrips((transaction) => write(transaction, 16)), 1)
  const locked = async (transaction: Transaction): Promise<void> => {
    await transaction.get(lock, [1])
    await write(transaction, 3)
  }
  assert.is(await roundTrips(locked), 2)
  assert.is(await roundTrips(async () => 'nothing to do'), 0)
  assert.is(await rows(), 2 * (1 + 16 + 3))
})

test('what throws undoes everything, sent or not yet sent', async () => {
  for (const asks of [false, true])
    assert.is(
      await keyOf(
        db.transact(async (transaction) => {
          for (let n = 0; n < 1_200; n += 1) await transaction.run(insert, [n, 'x'])
          if (asks) assert.is((await transaction.get<{ count: number }>(count, []))!.count, 1_200)
          throw new Error('no')
        }),
      ),
      'no',
    )
  assert.is(await rows(), 0)
})

test('a large import is sent ahead in pieces and is still one transaction', async () => {
  const text = 'x'.repeat(2_000)
  await db.transact(async (transaction) => {
    for (let n = 0; n < 3_000; n += 1) await transaction.run(insert, [n, text])
  })
  assert.is(await rows(), 3_000)
})

test('a failed statement fails its transaction even when the work goes on as if nothing were', async () => {
  const swallowed = db.transact(async (transaction) => {
    await transaction.run(insert, [1, 'one'])
    await Promise.resolve(transaction.get(fail, ['22012'])).catch(() => {})
    await transaction.run(insert, [2, 'two'])
  })
  assert.is(await keyOf(swallowed), '22012')
  // The same where nothing follows that could fail: PostgreSQL answers such a COMMIT with a polite ROLLBACK.
  const silent = db.transact(async (transaction) => {
    await transaction.run(insert, [3, 'three'])
    await Promise.resolve(transaction.get(fail, ['22012'])).catch(() => {})
  })
  assert.is(await keyOf(silent), '22012')
  assert.is(await rows(), 0)
})

test('what fails at COMMIT is an error, with or without questions before', async () => {
  for (const asks of [false, true]) {
    const orphan = db.transact(async (transaction) => {
      await transaction.run(insert, [1, 'one'])
      if (asks) await transaction.get(find, [1])
      await transaction.run(part, [7])
    })
    assert.is(await keyOf(orphan), '23503')
  }
  assert.is(await rows(), 0)
  await db.transact((transaction) => transaction.run(insert, [1, 'the session is as good as new']))
})

test('a statement after the end of its transaction is refused', async () => {
  let kept: Transaction | undefined
  await db.transact((transaction) => {
    kept = transaction
  })
  assert.throws(() => kept!.run(insert, [1, 'late']), /after the end/)
  assert.match(await keyOf(kept!.get(find, [1])), /after the end/)
})

test('questions of one transaction asked at the same time are answered in their order', async () => {
  const answers = await db.transact(async (transaction) => {
    await transaction.run(insert, [1, 'one'])
    return Promise.all([
      transaction.get(find, [1]),
      transaction.get(find, [2]),
      transaction.all(update, ['changed', 1]),
      transaction.get(find, [1]),
    ])
  })
  assert.equal(answers, [{ text: 'one' }, undefined, [], { text: 'changed' }])
})

test('transactions that lock one another are run again and both go through', async () => {
  await db.transact(async (transaction) => {
    for (const id of [1, 2]) await transaction.run(insert, [id, '0'])
  })
  let runs = 0
  let locked = 0
  const both = Promise.withResolvers<void>()
  const cross = async (first: number, second: number): Promise<void> =>
    db.transact(async (transaction) => {
      runs += 1
      await transaction.get(lock, [first])
      locked += 1
      if (locked === 2) both.resolve()
      await both.promise
      await transaction.get(lock, [second])
      await transaction.run(update, [`${first}`, first])
      await transaction.run(update, [`${first}`, second])
    })
  await Promise.all([cross(1, 2), cross(2, 1)])
  assert.ok(runs >= 3)
})

test('of two that insert the same row, the later one runs again and finds it', async () => {
  let looked = 0
  const both = Promise.withResolvers<void>()
  const upsert = (): Promise<string> =>
    db.transact(async (transaction) => {
      const found = await transaction.get(find, [1])
      looked += 1
      if (looked === 2) both.resolve()
      await both.promise
      await transaction.run(found === undefined ? insert : update, found === undefined ? [1, 'new'] : ['again', 1])
      return found === undefined ? 'inserted' : 'updated'
    })
  assert.equal((await Promise.all([upsert(), upsert()])).sort(), ['inserted', 'updated'])
  assert.is(await keyOf(db.transact((transaction) => transaction.run(insert, [1, 'twice']))), 'database/conflict')
})

const CODES: readonly (readonly [string, string, number])[] = [
  ['53100', 'database/full', 507],
  ['53200', 'database/unavailable', 503],
  ['53300', 'database/too-many-connections', 503],
  ['40001', 'database/held-up', 503],
  ['40P01', 'database/held-up', 503],
  ['55P03', 'database/held-up', 503],
  ['57014', 'database/query-cancelled', 503],
  ['57P01', 'database/unavailable', 503],
  ['58030', 'database/unavailable', 503],
  ['25006', 'database/unavailable', 503],
  ['08006', 'database/unavailable', 503],
]
for (const [code, key, status] of CODES)
  test(`SQLSTATE ${code} is answered as ${status} ${key}, in a read, a slow query and a transaction`, async () => {
    const outcomes = await Promise.allSettled([
      db.get(fail, [code]),
      db.longQuery(fail, [code]),
      db.transact(async (transaction) => {
        await transaction.run(insert, [1, 'x'])
        await transaction.get(fail, [code])
      }),
      db.transact((transaction) => transaction.run(fail, [code])),
    ])
    for (const outcome of outcomes) {
      const error = (outcome as PromiseRejectedResult).reason
      assert.is(error?.key, key)
      assert.is(error.status, status)
      assert.not.match(error.message, /told to/)
    }
    assert.is(await rows(), 0)
  })

test('a connection lost during COMMIT is an unknown outcome, never a success, and may have been stored', async () => {
  for (const [id, asks] of [
    [1, false],
    [2, true],
  ] as const) {
    // The session that this case takes has prepared the statement: no message but the one with the COMMIT is cut.
    await db.transact((transaction) => transaction.run(insert, [100 + id, 'prepared']))
    const writing = db.transact(async (transaction) => {
      if (asks) await transaction.get(find, [id])
      await transaction.run(insert, [id, 'x'])
      let isUnderWay = false
      proxy.onClient = (chunk) => {
        isUnderWay ||= chunk.includes('test.insert')
        return isUnderWay && chunk.subarray(-SYNC.length).equals(SYNC) ? 'cut' : 'pass'
      }
    })
    assert.is(await keyOf(writing), 'database/commit-unknown')
    proxy.onClient = () => 'pass'
    await until(async () => (await db.get(find, [id])) !== undefined, 5_000, 'the commit that was not heard of')
  }
})

test('a connection lost before COMMIT stores nothing and says so', async () => {
  const writing = db.transact(async (transaction) => {
    await transaction.run(insert, [1, 'x'])
    proxy.onClient = (chunk) => (chunk.includes('test.find') ? 'drop' : 'pass')
    await transaction.get(find, [1])
  })
  assert.is(await keyOf(writing), 'database/unavailable')
  proxy.onClient = () => 'pass'
  assert.is(await rows(), 0)
})

test('a read whose session was lost while it lay idle is asked again on another', async () => {
  await db.get(find, [1])
  let cuts = 0
  proxy.onClient = (chunk) => {
    if (cuts > 0 || !chunk.includes('test.find')) return 'pass'
    cuts += 1
    return 'drop'
  }
  assert.is(await db.get(find, [1]), undefined)
  assert.is(cuts, 1)
})

test.run()
