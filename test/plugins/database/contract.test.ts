/** What the Database service promises, on every kind of database. */
import { EntitySchema, raw, UniqueConstraintViolationException } from '@mikro-orm/core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel, definePlugin, defineService, type Kernel } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { type CommitParticipant, Database, sql } from '../../../plugins/database/service.ts'
import { databaseKinds } from '../../support/database-kinds.ts'

interface Note {
  id: number
  text: string
}

const NoteSchema = new EntitySchema<Note>({
  name: 'Note',
  tableName: 'note',
  properties: { id: { type: 'number', primary: true }, text: { type: 'string' } },
})
const Notes = defineService<true>('notes')
const notes = definePlugin({
  name: 'notes',
  needs: { database: Database },
  provides: [Notes],
  entities: async () => [NoteSchema],
  migrations: [
    { name: 'notes/0001-note', sql: ['CREATE TABLE note (id integer PRIMARY KEY, text varchar(200) NOT NULL)'] },
  ],
  setup: ({ provide }) => provide(Notes, true),
})

const insert = sql('test.insert', 'INSERT INTO note (id, text) VALUES (?, ?)')
const read = sql('test.read', 'SELECT text FROM note WHERE id = ?')
const list = sql('test.list', 'SELECT id, text FROM note ORDER BY id')
const level = sql('test.level', { sqlite: 'PRAGMA synchronous', postgres: 'SHOW synchronous_commit' })
const WAITS = ['2', 'on']
// Only PostgreSQL is asked this way.
const isThere = sql('test.is-there', 'SELECT 1 / (count(*) = 1)::int FROM note WHERE id = ?')
const broken = sql('test.broken', 'SELECT id FROM nowhere')

for (const kind of databaseKinds()) {
  const test = suite<{ kernel: Kernel; db: Database; remove(): Promise<void> }>(`database on ${kind.name}`)
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

  test('what a transaction wrote is there after it resolved', async ({ db }) => {
    const answer = await db.transact(async (transaction) => {
      await transaction.run(insert, [1, 'one'])
      return (await transaction.get<{ text: string }>(read, [1]))?.text
    })
    assert.is(answer, 'one')
    assert.is((await db.get<{ text: string }>(read, [1]))?.text, 'one')
    assert.is(await db.get(read, [2]), undefined)
  })

  test('what a transaction takes for granted is so when it is committed, or it is told to ask', async ({ db }) => {
    const follow = (target: number, id: number): Promise<string> =>
      db.transact(async (transaction) => {
        const isSure = transaction.assertOptimistically(isThere, [target])
        if (!isSure && (await transaction.get(read, [target])) === undefined) return 'nothing to follow'
        await transaction.run(insert, [id, `behind ${target}`])
        return 'followed'
      })
    await db.transact((transaction) => transaction.run(insert, [1, 'one']))
    const answers = await Promise.all([follow(1, 2), follow(99, 3), follow(1, 4)])
    assert.equal(answers, ['followed', 'nothing to follow', 'followed'])
    assert.equal(
      (await db.all<{ id: number }>(list, [])).map(({ id }) => id),
      [1, 2, 4],
    )
  })

  test('a transaction that throws undoes its own statements only, although others share its commit', async ({ db }) => {
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, n) =>
        db.transact(async (transaction) => {
          await transaction.run(insert, [n, `note ${n}`])
          if (n % 3 === 0) throw new Error(`no ${n}`)
          return n
        }),
      ),
    )
    assert.equal(
      results.map(({ status }) => status === 'fulfilled'),
      Array.from({ length: 20 }, (_, n) => n % 3 !== 0),
    )
    const rows = await db.all<{ id: number }>(list, [])
    assert.equal(
      rows.map(({ id }) => id),
      Array.from({ length: 20 }, (_, n) => n).filter((n) => n % 3 !== 0),
    )
  })

  test('a transaction that may be relaxed does not wait for the disk, and no other one is relaxed beside it', async ({
    db,
  }) => {
    const levels: string[] = []
    const participant: CommitParticipant<number> = {
      async beforeCommit(transaction, items) {
        const [found] = Object.values((await transaction.get<Record<string, unknown>>(level, [])) ?? {})
        for (const item of items) levels[item] = String(found)
      },
      finished: () => undefined,
      refuse: (cause) => cause as never,
    }
    const write = (id: number, asynchronousCommit: boolean) =>
      db.transact(
        async (transaction) => {
          await transaction.run(insert, [id, 'x'])
          transaction.beforeCommit(participant, id)
        },
        { asynchronousCommit },
      )
    await write(0, true)
    await write(1, false)
    await Promise.all(Array.from({ length: 30 }, (_, n) => write(n + 2, n % 3 !== 0)))
    // One that fails in a group of relaxed ones leaves no other lowered.
    const failing = db.transact((transaction) => transaction.run(insert, [0, 'again']), { asynchronousCommit: true })
    assert.is((await Promise.allSettled([failing, write(32, true)]))[0]?.status, 'rejected')
    await write(33, false)
    assert.is(WAITS.includes(levels[0] ?? ''), false)
    assert.ok(WAITS.includes(levels[1] ?? ''))
    assert.ok(WAITS.includes(levels[33] ?? ''))
    // On PostgreSQL one that waits may let another one behind it wait for both.
    if (kind.name !== 'postgres') for (let n = 0; n < 30; n += 3) assert.ok(WAITS.includes(levels[n + 2] ?? ''), `${n}`)
    assert.is((await db.all(list, [])).length, 34)
  })

  test('a statement that fails fails its transaction and nothing else', async ({ db }) => {
    const duplicate = db.transact(async (transaction) => {
      await transaction.run(insert, [1, 'first'])
      await transaction.run(insert, [1, 'again'])
      // PostgreSQL may send what has no answer late: asking makes it now.
      await transaction.get(read, [1])
    })
    const good = db.transact((transaction) => transaction.run(insert, [2, 'second']))
    assert.is((await Promise.allSettled([duplicate]))[0]?.status, 'rejected')
    await good
    assert.equal(
      (await db.all<{ id: number }>(list, [])).map(({ id }) => id),
      [2],
    )
  })

  test('a read sees nothing of a transaction before its commit', async ({ db }) => {
    let seen: Promise<unknown> | undefined
    let release = (): void => undefined
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const writing = db.transact(async (transaction) => {
      await transaction.run(insert, [1, 'one'])
      await transaction.get(read, [1])
      seen = Promise.resolve(db.get(read, [1]))
      // On one handle the read has to wait for the transaction; elsewhere it must answer at once.
      if (kind.name !== 'memory') assert.is(await seen, undefined)
      setImmediate(release)
      await gate
    })
    await writing
    await seen
    assert.ok(await db.get(read, [1]))
  })

  // In memory there is one handle, which can write.
  if (kind.name === 'sqlite')
    test('a read that would write is refused', async ({ db }) => {
      const both = sql('test.both', "INSERT INTO note (id, text) VALUES (1, 'one') RETURNING id")
      assert.throws(() => db.all(both, []))
      assert.throws(() => db.get(both, []))
      assert.equal(await db.all(list, []), [])
    })

  test('a slow query answers with the same rows, and a cancelled one with an error', async ({ db }) => {
    await db.transact(async (transaction) => {
      for (let n = 0; n < 5; n += 1) await transaction.run(insert, [n, `note ${n}`])
    })
    assert.equal(await db.longQuery(list, []), await db.all(list, []))
    const aborted = AbortSignal.abort()
    if (kind.name !== 'memory')
      await db.longQuery(list, [], aborted).then(
        () => assert.unreachable('a cancelled query answered'),
        (error) => assert.is(error.status, 503),
      )
    await db.longQuery(broken, []).then(
      () => assert.unreachable('a broken query answered'),
      (error) => assert.match(error.message, /nowhere/),
    )
  })

  test('bytes come back as a Buffer from every way of reading', async ({ db }) => {
    const bytes = sql('test.bytes', {
      sqlite: "SELECT x'00ff10' AS bytes",
      postgres: "SELECT '\\x00ff10'::bytea AS bytes",
    })
    for (const rows of [await db.all<{ bytes: Buffer }>(bytes, []), await db.longQuery<{ bytes: Buffer }>(bytes, [])]) {
      assert.ok(Buffer.isBuffer(rows[0]?.bytes))
      assert.is(rows[0]?.bytes.toString('hex'), '00ff10')
    }
  })

  test('MikroORM works on the same tables with the entities of the plugins', async ({ db }) => {
    await db.transact((transaction) => transaction.run(insert, [7, 'seven']))
    const orm = await db.orm()
    assert.is((await orm.em.fork().findOne(NoteSchema, { id: 7 }))?.text, 'seven')
  })

  test('MikroORM writes values as they are, also inside of SQL, and names what a constraint refuses', async ({
    db,
  }) => {
    const em = (await db.orm()).em.fork()
    const text = String.raw`it's \'; DROP TABLE note; --`
    await em.insert(NoteSchema, { id: 8, text })
    assert.is((await em.findOne(NoteSchema, { text }))?.id, 8)
    assert.is(await em.count(NoteSchema, { [raw(`text = ${em.getPlatform().quoteValue(text)}`)]: [] }), 1)
    const refused = await em.insert(NoteSchema, { id: 8, text: 'again' }).then(
      () => undefined,
      (error: unknown) => error,
    )
    assert.instance(refused, UniqueConstraintViolationException)
  })

  test('status counts transactions and the commits they shared', async ({ db }) => {
    await Promise.all(
      Array.from({ length: 10 }, (_, n) => db.transact((transaction) => transaction.run(insert, [n, 'x']))),
    )
    const { commits, kind: named } = db.status()
    assert.is(named, kind.name)
    assert.ok(commits.transactions >= 10)
    assert.ok(commits.groups <= commits.transactions)
  })

  test('after the stop the database refuses work instead of hanging', async ({ db, kernel }) => {
    await kernel.stop()
    await db
      .transact(() => 1)
      .then(
        () => assert.unreachable('a closed database took a transaction'),
        (error) => assert.is(error.status, 503),
      )
  })

  test.run()
}
