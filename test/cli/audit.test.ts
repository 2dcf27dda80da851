/** `server audit verify`: what it prints and how it exits, 0, 1 or 2, beside a server and without one. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel } from '../../kernel/index.ts'
import audit from '../../plugins/audit/index.ts'
import { startPostgres } from '../support/postgres.ts'
import { basic } from '../support/server-with.ts'
import { createWorld, type Ran } from '../support/world.ts'

const KEY = 'a key of the chain for tests'
const plugins = [...basic, audit]

const startOn = async (path: string) => {
  const kernel = await createKernel({
    plugins,
    settings: { database: { kind: 'sqlite', sqlite_path: path }, audit: { key: KEY } },
    log: { level: 'silent' },
  })
  await kernel.start()
  for (let n = 0; n < 5; n += 1)
    await kernel.inject({
      method: 'POST',
      url: '/Patient',
      headers: { 'content-type': 'application/fhir+json' },
      payload: '{"resourceType":"Patient"}',
    })
  return kernel
}

type Verify = (args: readonly string[], key?: string) => Promise<Ran>

const inFolder = async (work: (path: string, verify: Verify) => Promise<void>): Promise<void> => {
  const place = createWorld()
  const path = join(place.folder, 'a.sqlite')
  const run: Verify = (args, key = KEY) =>
    createWorld({
      plugins,
      folder: place.folder,
      argv: ['audit', 'verify', '--sqlite', path, ...args],
      environment: { SERVER_AUDIT_KEY: key },
    }).run()
  try {
    await work(path, run)
  } finally {
    place.remove()
  }
}
test('a sound trail exits with 0 and is left to the byte; so does one whose server runs', () =>
  inFolder(async (path, verify) => {
    const kernel = await startOn(path)
    const beside = await verify([])
    assert.is(beside.code, 0, beside.stderr)
    assert.is(JSON.parse(beside.stdout).ok, true)
    await kernel.stop()
    const before = readFileSync(path)
    const { code, stdout } = await verify([])
    assert.is(code, 0)
    const verdict = JSON.parse(stdout)
    assert.is(verdict.ok, true)
    assert.is(verdict.keyed, true)
    assert.is(verdict.checked, 7)
    assert.ok(before.equals(readFileSync(path)))
    const { seq, mac } = verdict.head
    assert.is(JSON.parse((await verify(['--seq', String(seq), '--mac', mac])).stdout).checkpoint, 'matches')
    assert.is((await verify(['--seq', '99', '--mac', mac])).code, 1)
  }))

test('a broken one exits with 1 and names the place', () =>
  inFolder(async (path, verify) => {
    await (await startOn(path)).stop()
    const handle = new BetterSqlite(path)
    handle.exec('UPDATE audit_event SET status = 299 WHERE seq = 3')
    handle.close()
    const { code, stdout } = await verify([])
    assert.is(code, 1)
    assert.equal(JSON.parse(stdout).broken, { seq: 3, kind: 'altered' })
    const other = await verify([], 'another key of sixteen')
    assert.is(other.code, 1)
    assert.equal(JSON.parse(other.stdout).broken, { seq: 1, kind: 'key' })
    assert.not.match(other.stdout + other.stderr, /another key of sixteen/)
  }))

test('what cannot be read exits with 2 and makes nothing', () =>
  inFolder(async (path, verify) => {
    const missing = await verify([])
    assert.is(missing.code, 2)
    assert.not.ok(existsSync(path))
    writeFileSync(path, 'no database')
    assert.is((await verify([])).code, 2)
    const half = await verify(['--seq', '1'])
    assert.is(half.code, 2)
    assert.match(half.stderr, /given together/)
  }))

test('a database that no server has used has no trail: exit code 2 says so, and it is left empty', async () => {
  const postgres = await startPostgres()
  const place = createWorld()
  const path = join(place.folder, 'empty.sqlite')
  const verify = (...argv: string[]): Promise<Ran> =>
    createWorld({ plugins, folder: place.folder, argv: ['audit', 'verify', ...argv] }).run()
  try {
    await postgres.createDatabase('unused')
    const url = postgres.url(undefined, 'unused')
    for (const _time of [1, 2]) {
      const { code, stdout, stderr } = await verify('--postgres', url)
      assert.is(code, 2)
      assert.is(stdout, '')
      assert.is(
        stderr,
        'There is no database to read: no server has used this postgres. Start a server on it first, or name another one with --sqlite or --postgres.\n',
      )
    }
    new BetterSqlite(path).exec('CREATE TABLE t (a); DROP TABLE t').close()
    const other = await verify('--sqlite', path)
    assert.is(other.code, 2)
    assert.match(other.stderr, 'empty.sqlite is not a database of this server')
    writeFileSync(`${path}.none`, '')
    const none = await verify('--sqlite', `${path}.none`)
    assert.is(none.code, 2)
    assert.is(
      none.stderr,
      `There is no database to read: ${path}.none. Start a server on it first, or name another one with --sqlite or --postgres.\n`,
    )
    const memory = await verify('--memory')
    assert.is(memory.code, 2)
    assert.match(
      memory.stderr,
      /^There is no database to read: one in memory is gone with its server\. Name one with --sqlite/,
    )
  } finally {
    place.remove()
    await postgres.stop()
  }
})

test('what it is to do is said', async () => {
  const place = createWorld({ plugins, argv: ['audit', 'dance'] })
  const { code } = await place.run()
  assert.is(code, 2)
  place.remove()
})

test.run()
