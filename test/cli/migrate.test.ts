/** `server migrate`: says what a start would do and does nothing. Spec: Command line; exit codes 0, 1, 2. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, createKernel } from '../../kernel/index.ts'
import { changesOf } from '../../plugins/database/schema.ts'
import { firstParty } from '../../plugins/index.ts'
import { basic } from '../support/server-with.ts'
import { createWorld, type Ran } from '../support/world.ts'

const STEPS = changesOf(basic).map(({ name }) => name)

const inFolder = async (
  work: (folder: string, migrate: (...flags: string[]) => Promise<Ran>) => Promise<void>,
  plugins: readonly AnyPlugin[] = basic,
): Promise<void> => {
  const place = createWorld()
  try {
    await work(place.folder, (...flags) =>
      createWorld({ plugins, folder: place.folder, argv: ['migrate', ...flags] }).run(),
    )
  } finally {
    place.remove()
  }
}

const startOnce = async (path: string): Promise<void> => {
  const kernel = await createKernel({
    plugins: basic,
    settings: { database: { kind: 'sqlite', sqlite_path: path } },
    log: { level: 'silent' },
  })
  await kernel.start()
  await kernel.stop()
}

test('a missing file is not created; everything would be applied', () =>
  inFolder(async (folder, migrate) => {
    const { code, stdout } = await migrate('--status')
    assert.is(code, 0)
    assert.match(stdout, /recorded: 0/)
    assert.match(stdout, new RegExp(`would apply: ${STEPS.length}\n  ${STEPS.join('\n  ')}\n`))
    assert.equal(readdirSync(folder), [])
  }))

test('--dry-run adds the SQL', () =>
  inFolder(async (folder, migrate) => {
    const { code, stdout } = await migrate('--dry-run', '--sqlite', join(folder, 'x.sqlite'))
    assert.is(code, 0)
    assert.match(stdout, /-- fhir\/0001-resources\nCREATE TABLE resource \(/)
    assert.equal(readdirSync(folder), [])
  }))

test('a migrated file has nothing left to do and is left to the byte, with no file beside it', () =>
  inFolder(async (folder, migrate) => {
    const path = join(folder, 'a.sqlite')
    await startOnce(path)
    const before = readFileSync(path)
    const files = readdirSync(folder)
    const { code, stdout } = await migrate('--status', '--sqlite', path)
    assert.is(code, 0)
    assert.match(stdout, new RegExp(`recorded: ${STEPS.length}\n  database/0001-pins  \\d{4}`))
    assert.match(stdout, /would apply: 0/)
    assert.equal(readdirSync(folder), files)
    assert.equal(readFileSync(path), before)
  }))

test('a newer build’s database is exit code 1 and named', () =>
  inFolder(async (folder, migrate) => {
    const path = join(folder, 'a.sqlite')
    await startOnce(path)
    const handle = new BetterSqlite(path)
    handle.exec("INSERT INTO migration (name) VALUES ('fhir/0999-tomorrow')")
    handle.close()
    const { code, stderr } = await migrate('--status', '--sqlite', path)
    assert.is(code, 1)
    assert.match(stderr, /newer build.*fhir\/0999-tomorrow/)
  }))

test('a file that is no database, and wrong arguments, are exit code 2', () =>
  inFolder(async (folder, migrate) => {
    const path = join(folder, 'text.sqlite')
    writeFileSync(path, 'not a database')
    const { code, stderr } = await migrate('--status', '--sqlite', path)
    assert.is(code, 2)
    assert.match(stderr, /cannot be read: .*text\.sqlite/)
    assert.is(readFileSync(path, 'utf8'), 'not a database')
    for (const flags of [[], ['--status', '--dry-run'], ['--statuss']]) assert.is((await migrate(...flags)).code, 2)
    assert.is(existsSync(join(folder, 'refhir.sqlite')), false)
  }))

test('the first-party plugins bring it, so that help lists it', async () => {
  const world = createWorld({ plugins: firstParty, argv: ['--help'] })
  const { stdout } = await world.run()
  world.remove()
  assert.match(stdout, /^ {2}migrate /m)
})

test.run()
