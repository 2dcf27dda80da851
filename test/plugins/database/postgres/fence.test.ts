/** A commit of a server that does not hold the writer lease any more stores nothing, however its transaction is made. */
import pg from 'pg'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel, definePlugin, type Kernel } from '../../../../kernel/index.ts'
import database from '../../../../plugins/database/index.ts'
import { type CommitParticipant, Database, sql, type Transaction } from '../../../../plugins/database/service.ts'
import { type Postgres, startPostgres } from '../../../support/postgres.ts'
import { until } from '../../../support/until.ts'

const notes = definePlugin({
  name: 'notes',
  migrations: [{ name: 'notes/0001-note', sql: ['CREATE TABLE note (id integer PRIMARY KEY)'] }],
  setup: () => undefined,
})
const insert = sql('test.insert', 'INSERT INTO note (id) VALUES (?)')
const find = sql('test.find', 'SELECT id FROM note WHERE id = ?')
const ids = sql('test.ids', 'SELECT id FROM note ORDER BY id')
const participant: CommitParticipant<number> = {
  beforeCommit: async (transaction, items) => {
    for (const id of items) await transaction.run(insert, [id])
  },
  finished: () => undefined,
  refuse: (cause) => cause as never,
}

let server: Postgres
let made = 0
test.before(async () => {
  server = await startPostgres()
})
test.after(() => server?.stop())

interface Place {
  readonly kernel: Kernel
  readonly db: Database
  ask(query: string): Promise<void>
  /** What a server does that takes over. */
  takeOver(): Promise<unknown>
  marks(): Promise<{ readonly epoch: number; readonly seq: number; readonly rows: number }>
}
const withPlace = async (work: (place: Place) => Promise<void>): Promise<void> => {
  made += 1
  const name = `fenced${made}`
  await server.createDatabase(name)
  const kernel = await createKernel({
    plugins: [database, notes],
    settings: { database: { kind: 'postgres', postgres_url: server.url(undefined, name) } },
    log: { level: 'silent' },
  })
  await kernel.start()
  const other = new pg.Client(server.url(undefined, name))
  await other.connect()
  try {
    await work({
      kernel,
      db: kernel.get(Database),
      ask: async (query) => void (await other.query(query)),
      takeOver: () =>
        other.query('UPDATE cluster_mark SET epoch = epoch + 1; UPDATE cluster_lease SET epoch = epoch + 1'),
      async marks() {
        const { rows } = await other.query(
          'SELECT epoch::int, seq::int, (SELECT count(*)::int FROM cluster_change) AS rows FROM cluster_mark',
        )
        return rows[0]
      },
    })
  } finally {
    await other.end()
    await kernel.stop()
  }
}
const keyOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error) => error.key ?? error.message,
  )

const WAYS: Readonly<Record<string, (transaction: Transaction, id: number) => Promise<void>>> = {
  'only writes': async (transaction, id) => void (await transaction.run(insert, [id])),
  'asks first': async (transaction, id) => {
    await transaction.get(find, [id])
    await transaction.run(insert, [id])
  },
  'has work before COMMIT': async (transaction, id) => transaction.beforeCommit(participant, id),
  'asks, and has work before COMMIT': async (transaction, id) => {
    await transaction.get(find, [id])
    await transaction.run(insert, [id])
    transaction.beforeCommit(participant, 1_000 + id)
  },
}

/** What is published has a row: until its first beat a server does not know that nobody follows. */
const VARIANTS: Readonly<Record<string, boolean>> = { '': false, ' and publishes something': true }

for (const [variant, publishes] of Object.entries(VARIANTS))
  for (const [way, given] of Object.entries(WAYS))
    test(`after another server took over, a transaction that ${way}${variant} stores nothing, and the server ends`, () =>
      withPlace(async ({ kernel, db, takeOver, marks }) => {
        const counted = publishes ? 1 : 0
        const work = async (transaction: Transaction, id: number): Promise<void> => {
          if (publishes) transaction.publish({ about: 'job' })
          await given(transaction, id)
        }
        await db.transact((transaction) => work(transaction, 1))
        const before = await marks()
        assert.is(before.seq, counted, 'each commit that publishes something is counted')
        assert.is(before.rows, counted)
        const stored = await db.all(ids, [])
        const late = db.transact(async (transaction) => {
          await work(transaction, 2)
          // Between the work and the fence.
          await takeOver()
        })
        assert.is(await keyOf(late), 'database/lease-ended')
        assert.equal(await db.all(ids, []), stored)
        assert.equal(await marks(), { ...before, epoch: before.epoch + 1 })
        const { error, exitCode } = await kernel.failed
        assert.is(error.key, 'database/lease-lost')
        assert.is(exitCode, 75)
        assert.is((await kernel.inject('/x')).statusCode, 503)
      }))

test('those that share a COMMIT are refused together, and none runs again', () =>
  withPlace(async ({ db, takeOver }) => {
    await db.transact((transaction) => transaction.run(insert, [1]))
    await takeOver()
    let runs = 0
    const keys = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        keyOf(
          db.transact((transaction) => {
            runs += 1
            return transaction.run(insert, [10 + n])
          }),
        ),
      ),
    )
    assert.equal([...new Set(keys)], ['database/lease-ended'])
    assert.is(runs, 20)
    assert.equal(await db.all(ids, []), [{ id: 1 }])
  }))

test('work that every server may do is not fenced, and a transaction that only asks is not counted', () =>
  withPlace(async ({ db, takeOver, marks }) => {
    await db.transact((transaction) => transaction.get(find, [1]))
    assert.is((await marks()).seq, 0)
    await takeOver()
    await db.transact((transaction) => transaction.run(insert, [1]), { shared: true })
    await db.transact(
      async (transaction) => {
        await transaction.get(find, [2])
        await transaction.run(insert, [2])
      },
      { shared: true },
    )
    assert.equal(await db.all(ids, []), [{ id: 1 }, { id: 2 }])
    assert.is((await marks()).seq, 0)
  }))

const RESTORES: Readonly<Record<string, string>> = {
  'in place': '',
  'and its connections are cut':
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
}
for (const [how, more] of Object.entries(RESTORES))
  test(`a backup of the same epoch that is restored under a server ends it with 75: ${how}`, () =>
    withPlace(async ({ kernel, db, ask }) => {
      for (const id of [1, 2])
        await db.transact(async (transaction) => {
          transaction.publish({ about: 'job' })
          await transaction.run(insert, [id])
        })
      await ask(`BEGIN; DELETE FROM note WHERE id = 2; UPDATE cluster_mark SET seq = seq - 1; COMMIT; ${more}`)
      let ended = ''
      void kernel.failed.then(({ error, exitCode }) => {
        ended = `${error.key} ${exitCode}`
      })
      await until(() => ended !== '', 10_000, 'the server to end')
      assert.is(ended, 'database/lease-lost 75')
    }))

test.run()
