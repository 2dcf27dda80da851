/** What transactions leave for their end: gathered, in one order, in the same COMMIT, on every kind of database. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel, defineError, definePlugin, type Kernel } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { type CommitParticipant, Database, sql } from '../../../plugins/database/service.ts'
import { databaseKinds } from '../../support/database-kinds.ts'

const TrailFull = defineError('test/trail-full', 503, 'transient', 'The trail is full.')
const notes = definePlugin({
  name: 'notes',
  needs: { database: Database },
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
const take = sql('test.take', { sqlite: 'SELECT 1 AS one', postgres: 'SELECT id FROM note WHERE id = ? FOR UPDATE' })
const append = sql('test.append', 'INSERT INTO line (seq, id) VALUES (?, ?)')
const last = sql('test.last', 'SELECT max(seq) AS seq FROM line')
const lines = sql('test.lines', 'SELECT seq, id FROM line ORDER BY seq')
const ids = sql('test.ids', 'SELECT id FROM note ORDER BY id')

/** Numbers what it is given without gaps, and remembers the last number it knows to be committed. */
const createLines = () => {
  let known: number | undefined
  let next: number | undefined
  const closing: CommitParticipant<number> & { calls: number; fails: unknown } = {
    calls: 0,
    fails: undefined,
    async beforeCommit(transaction, items) {
      closing.calls += 1
      let seq = known ?? (await transaction.get<{ seq: number | null }>(last, []))?.seq ?? 0
      for (const id of items) {
        seq += 1
        await transaction.run(append, [seq, id])
      }
      next = seq
      if (closing.fails !== undefined) throw closing.fails
    },
    finished(committed) {
      known = committed ? next : undefined
    },
    refuse: (cause) => TrailFull().with({ cause }),
  }
  return closing
}

for (const kind of databaseKinds()) {
  const test = suite<{ kernel: Kernel; db: Database; remove(): Promise<void> }>(
    `the end of transactions on ${kind.name}`,
  )
  test.before.each(async (context) => {
    const { settings, remove } = await kind.fresh()
    context.kernel = await createKernel({ plugins: [database, notes], settings, log: { level: 'silent' } })
    await context.kernel.start()
    context.db = context.kernel.get(Database)
    context.remove = remove
  })
  test.after.each(async ({ kernel, remove }) => {
    await kernel.stop()
    await remove()
  })

  test('many at once leave lines without gaps, one for each that was committed and none for the others', async ({
    db,
  }) => {
    const closing = createLines()
    const outcomes = await Promise.allSettled(
      Array.from({ length: 200 }, (_, at) =>
        db.transact(async (transaction) => {
          await transaction.run(insert, [at])
          transaction.beforeCommit(closing, at)
          if (at % 5 === 0) throw new Error('undone')
        }),
      ),
    )
    assert.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 160)
    const rows = await db.all<{ seq: number; id: number }>(lines, [])
    assert.equal(
      rows.map(({ seq }) => seq),
      Array.from({ length: 160 }, (_, at) => at + 1),
    )
    const left = rows.map(({ id }) => id).sort((a, b) => a - b)
    assert.equal(
      left,
      (await db.all<{ id: number }>(ids, [])).map(({ id }) => id),
    )
    assert.not.ok(left.some((id) => id % 5 === 0))
  })

  test('what cannot be left undoes the change, with the error its owner gives', async ({ db }) => {
    const closing = createLines()
    closing.fails = new TypeError('no room')
    const write = (id: number): Promise<unknown> =>
      db.transact(async (transaction) => {
        await transaction.run(insert, [id])
        transaction.beforeCommit(closing, id)
      })
    const refused = await write(1).catch((error: { key: string }) => error)
    assert.is((refused as { key: string }).key, 'test/trail-full')
    assert.equal(await db.all(ids, []), [])
    closing.fails = undefined
    await write(2)
    assert.equal(await db.all(lines, []), [{ seq: 1, id: 2 }])
  })

  test('a row that is there already is found out and the transaction goes through with the next number', async ({
    db,
  }) => {
    const mine = createLines()
    const others = createLines()
    const write = (participant: CommitParticipant<number>, id: number): Promise<unknown> =>
      db.transact(async (transaction) => {
        await transaction.run(insert, [id])
        transaction.beforeCommit(participant, id)
      })
    await write(mine, 1)
    await write(others, 2)
    // Believes that 1 is the last.
    if (kind.name === 'postgres') await write(mine, 3)
    else await write(createLines(), 3)
    assert.equal(await db.all(lines, []), [
      { seq: 1, id: 1 },
      { seq: 2, id: 2 },
      { seq: 3, id: 3 },
    ])
  })

  test('one that holds a lock and waits for its end does not keep another waiting at its own', async ({ db }) => {
    if (kind.name !== 'postgres') return
    const closing = createLines()
    await db.transact(async (transaction) => void (await transaction.run(insert, [1])))
    const started = performance.now()
    await Promise.all(
      Array.from({ length: 40 }, (_, at) =>
        db
          .transact(async (transaction) => {
            if (at % 2 === 0) await transaction.get(take, [1])
            await transaction.run(insert, [1_000 + Math.floor(at / 2)])
            transaction.beforeCommit(closing, at)
          })
          .catch((error) => assert.match(String(error), /Somebody else stored the same/)),
      ),
    )
    // A lock timeout, or a deadlock nobody sees, would take seconds.
    assert.ok(performance.now() - started < 2_500)
    assert.is((await db.all(lines, [])).length, (await db.all(ids, [])).length - 1)
  })

  test.run()
}
