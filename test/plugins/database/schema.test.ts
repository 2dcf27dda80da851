/** Migrations at start: pinned release, newer build, all or nothing. Spec: Versioning. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, createKernel, definePlugin } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { isNewer, planSchema } from '../../../plugins/database/schema.ts'
import { temporaryFolder } from '../../support/database-kinds.ts'

const withTables = (...names: string[]): AnyPlugin =>
  definePlugin({
    name: 'shop',
    migrations: names.map((name) => ({
      name: `shop/${name}`,
      sql: [`CREATE TABLE shop_${name.slice(5)} (id integer PRIMARY KEY)`],
    })),
    setup: () => undefined,
  })

const start = async (path: string, plugins: readonly AnyPlugin[]) => {
  const kernel = await createKernel({
    plugins: [database, ...plugins],
    settings: { database: { kind: 'sqlite', sqlite_path: path } },
    log: { level: 'silent' },
  })
  await kernel.start()
  await kernel.stop()
}
const failure = async (path: string, plugins: readonly AnyPlugin[]): Promise<string> =>
  start(path, plugins).then(
    () => assert.unreachable('the start was not refused') as never,
    (error: Error) => error.message,
  )
const inspect = <T>(path: string, look: (handle: BetterSqlite.Database) => T): T => {
  const handle = new BetterSqlite(path)
  try {
    return look(handle)
  } finally {
    handle.close()
  }
}

test('a later build adds its migrations and the same build does nothing', async () => {
  const folder = temporaryFolder()
  const path = join(folder.path, 'a.sqlite')
  await start(path, [withTables('0001-one')])
  await start(path, [withTables('0001-one')])
  await start(path, [withTables('0001-one', '0002-two')])
  const names = inspect(path, (handle) => handle.prepare('SELECT name FROM migration ORDER BY id').pluck().all())
  assert.equal(names, [
    'database/0001-pins',
    'database/0002-backlog',
    'database/0003-lease',
    'database/0004-change',
    'shop/0001-one',
    'shop/0002-two',
  ])
  folder.remove()
})

test('a database migrated by a newer build is refused and left unchanged', async () => {
  const folder = temporaryFolder()
  const path = join(folder.path, 'a.sqlite')
  await start(path, [withTables('0001-one', '0002-two')])
  const before = readFileSync(path)
  assert.match(await failure(path, [withTables('0001-one')]), /newer build.*shop\/0002-two/)
  assert.equal(readFileSync(path), before)
  folder.remove()
})

test('the tables of a plugin that is not loaded any more stay, and the server starts', async () => {
  const folder = temporaryFolder()
  const path = join(folder.path, 'a.sqlite')
  await start(path, [withTables('0001-one')])
  await start(path, [])
  assert.ok(inspect(path, (handle) => handle.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'shop_one'").get()))
  folder.remove()
})

test('the release is pinned', () => {
  const recorded = { migrations: [], pins: { fhir_version: 'r4', build: '0.1.0' } }
  assert.throws(() => planSchema(recorded, [], '0.1.0', 'r5'), /pinned to FHIR r4/)
  assert.equal(planSchema(recorded, [], '0.1.0', 'r4').pending, [])
})

test('when one migration fails, none is applied and a new file is gone', async () => {
  const folder = temporaryFolder()
  const path = join(folder.path, 'a.sqlite')
  const faulty = definePlugin({
    name: 'faulty',
    migrations: [{ name: 'faulty/0001-bad', sql: ['CREATE TABLE good (id integer)', 'CREATE TABLE bad ('] }],
    setup: () => undefined,
  })
  assert.match(await failure(path, [withTables('0001-one'), faulty]), /"database" cannot start/)
  assert.is(existsSync(path), false)
  await start(path, [withTables('0001-one')])
  await failure(path, [withTables('0001-one'), faulty])
  const names = inspect(path, (handle) => handle.prepare('SELECT name FROM migration ORDER BY id').pluck().all())
  assert.equal(names, [
    'database/0001-pins',
    'database/0002-backlog',
    'database/0003-lease',
    'database/0004-change',
    'shop/0001-one',
  ])
  assert.is(
    inspect(path, (handle) => handle.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'good'").get()),
    undefined,
  )
  folder.remove()
})

test('build versions compare by number', () => {
  assert.ok(isNewer('0.10.0', '0.9.0'))
  assert.not.ok(isNewer('0.9.0', '0.10.0'))
  assert.not.ok(isNewer('1.0.0', '1.0.0'))
})

test.run()
