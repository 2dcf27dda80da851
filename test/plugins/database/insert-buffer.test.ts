/** Rows that are inserted later: whoever asks finds them, whatever happens between COMMIT and their tables. */
import { copyFileSync, existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import BetterSqlite from 'better-sqlite3'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel, definePlugin, type Kernel } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { Database, type DeferredInsert, type SqlScalar, sql } from '../../../plugins/database/service.ts'
import { databaseKinds, sqliteKind } from '../../support/database-kinds.ts'
import { createManualClock } from '../../support/manual-clock.ts'

const notes = definePlugin({
  name: 'notes',
  needs: { database: Database },
  migrations: [
    {
      name: 'notes/0001-word',
      sql: [
        'CREATE TABLE word (text varchar(64) NOT NULL, id integer NOT NULL, PRIMARY KEY (text, id))',
        'CREATE TABLE note (id integer PRIMARY KEY)',
        'CREATE TABLE number (value double precision NOT NULL, id integer NOT NULL)',
        'CREATE TABLE mixed (a double precision, b varchar(64), c varchar(64), d double precision)',
      ],
    },
  ],
  setup: () => undefined,
})

const IGNORE = (rows: string): { sqlite: string; postgres: string } => ({
  sqlite: `INSERT OR IGNORE INTO word (text, id) VALUES ${rows}`,
  postgres: `INSERT INTO word (text, id) VALUES ${rows} ON CONFLICT DO NOTHING`,
})
const words: DeferredInsert = {
  table: 'word',
  width: 2,
  counts: [sql('test.word-1', IGNORE('(?, ?)')), sql('test.word-2', IGNORE('(?, ?), (?, ?)'))],
}
const numbers: DeferredInsert = {
  table: 'number',
  width: 2,
  counts: [sql('test.number', 'INSERT INTO number (value, id) VALUES (?, ?)')],
}
const mixed: DeferredInsert = {
  table: 'mixed',
  width: 4,
  counts: [
    sql('test.mixed-1', 'INSERT INTO mixed (a, b, c, d) VALUES (?, ?, ?, ?)'),
    sql('test.mixed-2', 'INSERT INTO mixed (a, b, c, d) VALUES (?, ?, ?, ?), (?, ?, ?, ?)'),
  ],
}
const readMixed = sql('test.mixed-read', 'SELECT a, b, c, d FROM mixed ORDER BY d')
const note = sql('test.note', 'INSERT INTO note (id) VALUES (?)')
const find = sql('test.find', 'SELECT id FROM word WHERE text = ? ORDER BY id')
const findBeside = sql('test.find-beside', 'SELECT n.id FROM note n JOIN word w ON w.id = n.id WHERE w.text = ?')
const drop = sql('test.drop', 'DELETE FROM word WHERE text = ?')
const largest = sql('test.largest', 'SELECT id FROM number ORDER BY value DESC LIMIT 1')

const idsOf = (rows: readonly { id: number }[]): readonly number[] => rows.map(({ id }) => id)

/** Rows of `mixed`, told apart by their last value. */
const MIXED: readonly (readonly SqlScalar[])[] = [
  [0, 'one', 'two', 1],
  [-1.5, null, 'zwei \u00fc \ud83d\ude00', 2],
  [null, null, null, 3],
  [2 ** 53, '', null, 4],
  [-(2 ** 47), 'a "quoted" \\ text\n', 'x', 5],
  [1.7e308, 'one', null, 6],
  [-1.7e308, null, 'Infinity', 7],
  [5e-324, 'NaN', 'null', 8],
]
const toMixed = ([a, b, c, d]: readonly SqlScalar[]) => ({ a, b, c, d })

/** Rows as the file has them, by a connection of its own. */
const rowsIn = (path: string, table: string): number => {
  const handle = new BetterSqlite(path, { readonly: true })
  const { n } = handle.prepare(`SELECT count(*) AS n FROM ${table}`).get() as { n: number }
  handle.close()
  return n
}

for (const kind of databaseKinds()) {
  const test = suite<{ kernel: Kernel; db: Database; remove(): Promise<void> }>(`rows that come later on ${kind.name}`)
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
  const add = (db: Database, ...params: readonly SqlScalar[]): Promise<void> =>
    db.transact((transaction) => transaction.insertDeferred(words, params))

  test('every way of asking finds them directly after COMMIT', async ({ db }) => {
    await add(db, 'a', 1, 'b', 1, 'c', 1)
    assert.equal(await db.get(find, ['a']), { id: 1 })
    await add(db, 'a', 2)
    assert.equal(idsOf(await db.all(find, ['a'])), [1, 2])
    await add(db, 'a', 3, 'a', 3)
    assert.equal(idsOf(await db.longQuery(find, ['a'])), [1, 2, 3])
    await add(db, 'a', 4)
    assert.equal(await db.transact(async (transaction) => idsOf(await transaction.all(find, ['a']))), [1, 2, 3, 4])
    await add(db, 'a', 5)
    assert.equal(await db.transact((transaction) => transaction.get(find, ['c'])), { id: 1 })
  })

  test('a table is known in the middle of a statement too', async ({ db }) => {
    await db.transact(async (transaction) => {
      await transaction.run(note, [7])
      await transaction.insertDeferred(words, ['a', 7])
    })
    assert.equal(idsOf(await db.all(findBeside, ['a'])), [7])
  })

  test('a transaction finds what it has left itself, and a deletion takes it', async ({ db }) => {
    await add(db, 'a', 1)
    const found = await db.transact(async (transaction) => {
      await transaction.insertDeferred(words, ['a', 2])
      const before = idsOf(await transaction.all(find, ['a']))
      await transaction.run(drop, ['a'])
      await transaction.insertDeferred(words, ['a', 3])
      return [before, idsOf(await transaction.all(find, ['a']))]
    })
    assert.equal(found, [[1, 2], [3]])
    assert.equal(idsOf(await db.all(find, ['a'])), [3])
  })

  test('one that is undone leaves nothing, and takes nothing with it that was there', async ({ db }) => {
    await add(db, 'a', 1)
    const outcomes = await Promise.allSettled(
      Array.from({ length: 200 }, (_, at) =>
        db.transact(async (transaction) => {
          await transaction.run(note, [at])
          await transaction.insertDeferred(words, ['a', 100 + at])
          // Some put what waits into its tables before they fail, some others leave more behind it.
          if (at % 7 === 0) await transaction.all(find, ['a'])
          await transaction.insertDeferred(words, ['b', at])
          if (at % 5 === 0) throw new Error('undone')
        }),
      ),
    )
    assert.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 160)
    const expected = Array.from({ length: 200 }, (_, at) => at).filter((at) => at % 5 !== 0)
    assert.equal(idsOf(await db.all(find, ['a'])), [1, ...expected.map((at) => 100 + at)])
    assert.equal(idsOf(await db.all(find, ['b'])), expected)
  })

  test('values of every kind are as they were, in one transaction and in many', async ({ db }) => {
    await db.transact((transaction) => transaction.insertDeferred(mixed, MIXED.flat()))
    for (const row of MIXED) await db.transact((transaction) => transaction.insertDeferred(mixed, row))
    assert.equal(
      (await db.all(readMixed, [])).map((row) => ({ ...(row as object) })),
      MIXED.flatMap((row) => [toMixed(row), toMixed(row)]),
    )
  })

  test('rows may share the last of their values', async ({ db }) => {
    await db.transact((transaction) =>
      transaction.insertDeferred(mixed, [1, 'a', null, null, 'b', 'c', 1.5, null, null], 7),
    )
    await db.transact(async (transaction) => {
      await transaction.insertDeferred(words, ['x', 'y', 'x'], 5)
      await transaction.insertDeferred(words, ['x'], 6)
    })
    const rows = await db.all<object>(readMixed, [])
    assert.equal(
      rows.map((row) => JSON.stringify({ ...row })).sort(),
      [toMixed([1, 'a', null, 7]), toMixed([null, 'b', 'c', 7]), toMixed([1.5, null, null, 7])]
        .map((row) => JSON.stringify(row))
        .sort(),
    )
    assert.equal(idsOf(await db.all(find, ['x'])), [5, 6])
    assert.equal(idsOf(await db.all(find, ['y'])), [5])
  })

  test('many in no order are all there, once, whatever their first values are', async ({ db }) => {
    const rows = Array.from({ length: 9_001 }, (_, at): readonly SqlScalar[] => {
      const mixedUp = (at * 7_919) % 9_001
      return [mixedUp % 7 === 0 ? null : mixedUp % 2 === 0 ? mixedUp - 4_000 : mixedUp / 3, `${mixedUp}`, null, mixedUp]
    })
    for (let at = 0; at < rows.length; at += 500)
      await db.transact((transaction) => transaction.insertDeferred(mixed, rows.slice(at, at + 500).flat()))
    const found = await db.all<{ d: number }>(readMixed, [])
    const inOrder = [...rows].sort((one, other) => (one[3] as number) - (other[3] as number))
    assert.equal(
      found.map((row) => ({ ...row })),
      inOrder.map(toMixed),
    )
  })

  if (kind.name !== 'postgres')
    test('a number without end is there as well', async ({ db }) => {
      await db.transact(async (transaction) => {
        await transaction.insertDeferred(numbers, [1, 1, Number.POSITIVE_INFINITY, 2, 3, 3])
        await transaction.insertDeferred(numbers, [0, Number.NEGATIVE_INFINITY], 4)
      })
      assert.equal(await db.get(largest, []), { id: 2 })
    })

  test.run()
}

const file = suite('rows that come later, in the file')

/** What a kill leaves: the file and its log as they are. */
const copy = (from: string, to: string): void => {
  for (const suffix of ['', '-wal']) if (existsSync(from + suffix)) copyFileSync(from + suffix, to + suffix)
}

file('a killed process leaves them beside their table, once, and the next start puts them there', async () => {
  const { settings, remove } = await sqliteKind.fresh()
  const path = (settings.database as { sqlite_path: string }).sqlite_path
  const open = async (sqlite_path: string): Promise<Kernel> => {
    const kernel = await createKernel({
      plugins: [database, notes],
      settings: { database: { kind: 'sqlite', sqlite_path } },
      log: { level: 'silent' },
    })
    await kernel.start()
    return kernel
  }
  const kernel = await open(path)
  const db = kernel.get(Database)
  await db.transact((transaction) => transaction.insertDeferred(words, ['a', 1]))
  await db.all(find, ['a'])
  await Promise.all(
    [2, 3].map((id) => db.transact((transaction) => transaction.insertDeferred(words, ['a', id, 'b', id]))),
  )
  const undone = (insert: DeferredInsert, params: readonly SqlScalar[]): Promise<void> =>
    db.transact(async (transaction) => {
      await transaction.insertDeferred(insert, params)
      throw new Error('undone')
    })
  const outcomes = await Promise.allSettled([
    undone(numbers, [9, 9]),
    db.transact((transaction) => transaction.insertDeferred(mixed, MIXED.slice(0, 3).flat())),
    undone(mixed, [0, 'not', 'this', 9]),
    db.transact((transaction) => transaction.insertDeferred(mixed, MIXED.slice(3).flat())),
  ])
  assert.equal(
    outcomes.map(({ status }) => status),
    ['rejected', 'fulfilled', 'rejected', 'fulfilled'],
  )
  await db.transact((transaction) => transaction.insertDeferred(numbers, [1, 1, 2, 2]))
  assert.is(rowsIn(path, 'word'), 1)
  assert.ok(rowsIn(path, 'backlog') > 0)
  copy(path, `${path}.killed`)
  await kernel.stop()
  assert.is(rowsIn(path, 'backlog'), 0)
  assert.is(rowsIn(path, 'word'), 5)
  assert.is(rowsIn(path, 'number'), 2)
  assert.is(rowsIn(path, 'mixed'), MIXED.length)

  const again = await open(`${path}.killed`)
  assert.is(rowsIn(`${path}.killed`, 'backlog'), 0)
  assert.is(rowsIn(`${path}.killed`, 'word'), 5)
  // A table that would hold a row twice: it is put there once.
  assert.is(rowsIn(`${path}.killed`, 'number'), 2)
  assert.equal(idsOf(await again.get(Database).all(find, ['a'])), [1, 2, 3])
  const found = await again.get(Database).all<object>(readMixed, [])
  assert.equal(
    found.map((row) => ({ ...row })),
    MIXED.map(toMixed),
  )
  await again.stop()
  const third = await open(`${path}.killed`)
  assert.is(rowsIn(`${path}.killed`, 'number'), 2)
  await third.stop()
  await remove()
})

file('what an earlier build had left as JSON is put by this one', async () => {
  const { settings, remove } = await sqliteKind.fresh()
  const path = (settings.database as { sqlite_path: string }).sqlite_path
  const open = async (): Promise<Kernel> => {
    const kernel = await createKernel({ plugins: [database, notes], settings, log: { level: 'silent' } })
    await kernel.start()
    return kernel
  }
  await (await open()).stop()
  const handle = new BetterSqlite(path)
  handle.exec(`INSERT INTO backlog_insert (number, width, text) VALUES
    (1, 2, 'INSERT OR IGNORE INTO word (text, id) VALUES (?, ?)'), (2, 4, 'INSERT INTO mixed (a, b, c, d) VALUES (?, ?, ?, ?)')`)
  const leave = handle.prepare('INSERT INTO backlog (rows) VALUES (?)')
  leave.run(JSON.stringify([[1, 'a', 1, 'b', 2]]))
  leave.run(JSON.stringify([[2, ...MIXED.flat()] as const, [1, 'a', 3]]))
  handle.close()
  const kernel = await open()
  assert.is(rowsIn(path, 'backlog'), 0)
  const db = kernel.get(Database)
  assert.equal(idsOf(await db.all(find, ['a'])), [1, 3])
  assert.is((await db.all(readMixed, [])).length, MIXED.length)
  await kernel.stop()
  await remove()
})

file('they wait for a quarter of a second without a write, or until they are many', async () => {
  const { settings, remove } = await sqliteKind.fresh()
  const path = (settings.database as { sqlite_path: string }).sqlite_path
  const clock = createManualClock()
  const kernel = await createKernel({ plugins: [database, notes], settings, clock, log: { level: 'silent' } })
  await kernel.start()
  const db = kernel.get(Database)
  await db.transact((transaction) => transaction.insertDeferred(words, ['a', 1]))
  assert.is(rowsIn(path, 'word'), 0)
  await clock.advance(200)
  await db.transact((transaction) => transaction.run(note, [0]))
  await clock.advance(200)
  assert.is(rowsIn(path, 'word'), 0)
  await clock.advance(200)
  assert.is(rowsIn(path, 'word'), 1)
  const many = Array.from({ length: 20_000 }, (_, id) => ['b', id]).flat()
  await db.transact((transaction) => transaction.insertDeferred(words, many))
  await db.transact((transaction) => transaction.run(note, [1]))
  assert.is(rowsIn(path, 'word'), 20_001)
  await kernel.stop()
  await remove()
})

file('before a long transaction begins all rows are put, also of one that comes directly before it', async () => {
  const { settings, remove } = await sqliteKind.fresh()
  const path = (settings.database as { sqlite_path: string }).sqlite_path
  const kernel = await createKernel({ plugins: [database, notes], settings, log: { level: 'silent' } })
  await kernel.start()
  const db = kernel.get(Database)
  const gate = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const short = db.transact((transaction) => transaction.insertDeferred(words, ['a', 1]))
  const long = db.transact(
    async (transaction) => {
      await transaction.insertDeferred(words, Array.from({ length: 10_000 }, (_, id) => ['b', id]).flat())
      begun.resolve()
      await gate.promise
    },
    { isLong: true },
  )
  await begun.promise
  await short
  assert.equal(await db.get(find, ['a']), { id: 1 })
  assert.equal(await db.longQuery(find, ['a']), [{ id: 1 }])
  assert.equal(await db.all(find, ['b']), [])
  gate.resolve()
  await long
  // None of its rows is left in the buffer: a reader never finds a part of them.
  assert.is(rowsIn(path, 'word'), 10_001)
  assert.is((await db.all(find, ['b'])).length, 10_000)
  await kernel.stop()
  await remove()
})

file(
  'where reads may wait, long transactions share a COMMIT, and their rows stay in the buffer until they are many',
  async () => {
    const { settings, remove } = await sqliteKind.fresh()
    const path = (settings.database as { sqlite_path: string }).sqlite_path
    // Time stands still: a group is not ended for the time it takes, and the buffer is not flushed because nobody writes.
    const clock = createManualClock()
    const kernel = await createKernel({ plugins: [database, notes], settings, clock, log: { level: 'silent' } })
    await kernel.start()
    const db = kernel.get(Database)
    const addLong = (first: number, count: number): Promise<void> =>
      db.transact(
        async (transaction) => {
          await transaction.insertDeferred(words, Array.from({ length: count }, (_, n) => ['b', first + n]).flat())
        },
        { isLong: true, readsMayWait: true },
      )
    const { groups } = db.status().commits
    await Promise.all([addLong(0, 10_000), addLong(10_000, 10_000), addLong(20_000, 10_000)])
    await addLong(30_000, 1)
    assert.is(db.status().commits.groups - groups, 2)
    assert.is(rowsIn(path, 'word'), 0)
    assert.is(rowsIn(path, 'backlog'), 2)
    assert.is((await db.longQuery(find, ['b'])).length, 30_001)
    assert.is(rowsIn(path, 'word'), 30_001)
    await addLong(40_000, 40_000)
    assert.is(rowsIn(path, 'word'), 30_001)
    await addLong(80_000, 30_000)
    // The next one begins when they are put.
    await addLong(110_000, 1)
    assert.is(rowsIn(path, 'word'), 100_001)
    assert.is(rowsIn(path, 'backlog'), 1)
    // Before another long transaction they are put as always.
    await db.transact((transaction) => transaction.run(note, [1]), { isLong: true })
    assert.is(rowsIn(path, 'word'), 100_002)
    await kernel.stop()
    await remove()
  },
)

file('while many are put others have their turn, and find none of them before all are there', async () => {
  const { settings, remove } = await sqliteKind.fresh()
  const path = (settings.database as { sqlite_path: string }).sqlite_path
  const kernel = await createKernel({ plugins: [database, notes], settings, log: { level: 'silent' } })
  await kernel.start()
  const db = kernel.get(Database)
  // One transaction with so many rows would put them into the table itself.
  for (let first = 0; first < 17_500; first += 2_500) {
    const some = Array.from({ length: 2_500 }, (_, n) => ['b', first + n]).flat()
    await db.transact((transaction) => transaction.insertDeferred(words, some))
  }
  const counts: number[] = []
  while (counts.at(-1) !== 17_500 && counts.length < 1_000) {
    await new Promise(setImmediate)
    counts.push(rowsIn(path, 'word'))
  }
  assert.equal([...new Set(counts)], [0, 17_500])
  assert.ok(counts.length > 10, `${counts.length} turns`)
  await kernel.stop()
  await remove()
})

file('who reads the file past the backlog is no plugin that has rows in it, and no plugin opens it by itself', () => {
  const root = fileURLToPath(new URL('../../../plugins/', import.meta.url))
  const sources = globSync('**/*.ts', { cwd: root })
    .filter((path) => !path.startsWith('database/'))
    .map((path) => ({ plugin: path.split('/')[0], text: readFileSync(join(root, path), 'utf8') }))
  const pluginsWith = (pattern: RegExp): ReadonlySet<string | undefined> =>
    new Set(sources.filter(({ text }) => pattern.test(text)).map(({ plugin }) => plugin))
  const later = pluginsWith(/\.insertDeferred\(/)
  const past = pluginsWith(/\bopenThreadReader\(|\.readOnly\(|\.threadReaderLocation\(/)
  assert.ok(later.has('search') && past.has('audit'), 'the patterns find what there is')
  assert.equal(
    [...past].filter((plugin) => later.has(plugin)),
    [],
  )
  assert.equal([...pluginsWith(/from 'better-sqlite3'/)], [])
})

file.run()
