/** `server import`: what it prints, what it writes into the file of errors, and how it exits. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import importing from '../../plugins/import/index.ts'
import { basic, serverWith } from '../support/server-with.ts'
import { createWorld, type Ran, type TestWorld } from '../support/world.ts'

const plugins = [...basic, importing]
const place = createWorld()
test.after(() => place.remove())
const path = (name: string): string => join(place.folder, name)
const database = path('a.sqlite')

const run = (args: readonly string[], on = ['--sqlite', database]): Promise<Ran> => {
  const world: TestWorld = createWorld({ plugins, folder: place.folder, argv: ['import', ...args, ...on] })
  return world.run()
}
test.before(async () => {
  const server = await serverWith({ settings: { database: { kind: 'sqlite', sqlite_path: database } }, plugins })
  await server.stop()
})
const patients = (...ids: readonly string[]): string =>
  ids.map((id) => `{"resourceType":"Patient","id":"${id}"}`).join('\n')

test('it says how many resources were stored, and leaves a file out that it knows', async () => {
  writeFileSync(path('p.ndjson'), patients('a', 'b'))
  const first = await run([path('p.ndjson')])
  assert.is(first.code, 0, first.stderr)
  assert.match(first.stdout, /^2 resources imported$/m)
  const second = await run([path('p.ndjson')])
  assert.is(second.code, 0)
  assert.match(second.stdout, /^p\.ndjson: left out, it was imported on \d{4}-/m)
})

test('a refused record exits with 1, is printed, and is an OperationOutcome in the file of errors', async () => {
  writeFileSync(path('bad.ndjson'), `${patients('c')}\n{"resourceType":"Nonsense"}`)
  const errors = path('errors.ndjson')
  const { code, stdout } = await run([path('bad.ndjson'), '--errors', errors])
  assert.is(code, 1)
  assert.match(stdout, /^1 resource imported, 1 record refused$/m)
  assert.match(stdout, /^bad\.ndjson:2: /m)
  const [line] = readFileSync(errors, 'utf8').trim().split('\n')
  const outcome = JSON.parse(line as string)
  assert.is(outcome.resourceType, 'OperationOutcome')
  assert.match(outcome.issue[0].diagnostics, /^bad\.ndjson:2: /)
})

test('an import that was interrupted before a refusal was noted names it once in the file of errors, and one that is made again twice', async () => {
  writeFileSync(path('cut.ndjson'), `${patients('d')}\n{"resourceType":"Nonsense"}`)
  const errors = path('cut-errors.ndjson')
  writeFileSync(errors, '{"a line that was cut')
  const lines = (): readonly string[] => readFileSync(errors, 'utf8').trim().split('\n')
  await run([path('cut.ndjson'), '--errors', errors])
  assert.is(lines().length, 2)
  const open = new BetterSqlite(database)
  open.prepare("UPDATE import_source SET finished = NULL, failed = 0 WHERE name = 'cut.ndjson'").run()
  open.close()
  const { code, stdout } = await run([path('cut.ndjson'), '--errors', errors])
  assert.is(code, 1)
  assert.match(stdout, /1 record refused$/m)
  assert.is(lines().length, 2)
  await run([path('cut.ndjson'), '--errors', errors, '--again'])
  assert.is(lines().length, 3)
  assert.is(lines()[1], lines()[2])
})

test('a file of errors that cannot be written, or that lies in what is imported, is refused before anything is stored', async () => {
  const folder = path('with-errors')
  mkdirSync(folder)
  writeFileSync(join(folder, 'x.ndjson'), `${patients('e')}\n{"resourceType":"Nonsense"}`)
  for (const [file, expected] of [
    [path('missing/errors.ndjson'), /^server: --errors \S+ cannot be written: ENOENT[^\n]*\n$/],
    [folder, /^server: --errors \S+ cannot be written: EISDIR[^\n]*\n$/],
    [join(folder, 'errors.ndjson'), /^server: --errors \S+ lies in what is imported[^\n]*\n$/],
  ] as const) {
    const { code, stdout, stderr } = await run([folder, '--errors', file])
    assert.is(code, 2, stderr)
    assert.match(stderr, expected)
    assert.is(stdout, '')
  }
  assert.not(existsSync(join(folder, 'errors.ndjson')))
  const full = await run([folder, '--errors', '/dev/full'])
  assert.is(full.code, 1)
  assert.match(full.stderr, /^server: not done, run it again to go on: ENOSPC[^\n]*\n$/)
  const errors = path('with-errors.ndjson')
  // As an interrupted import leaves it: the beginning of a line that was not noted.
  writeFileSync(errors, '{"resourceType":"Operatio')
  assert.is((await run([folder, '--errors', errors])).code, 1)
  assert.equal(
    readFileSync(errors, 'utf8')
      .split('\n')
      .map((line) => line && JSON.parse(line).issue[0].diagnostics.split(': ')[0]),
    ['x.ndjson:2', ''],
  )
})

test('a second run of a file with refused records exits with 1 and names their number', async () => {
  const { code, stdout } = await run([path('bad.ndjson')])
  assert.is(code, 1)
  assert.match(stdout, /^bad\.ndjson: left out, it was imported on .* with 1 record refused;/m)
})

test('a database that is not there is not made', async () => {
  const { code, stderr } = await run([path('p.ndjson')], ['--sqlite', path('mistyped.sqlite')])
  assert.is(code, 2)
  assert.match(stderr, /mistyped\.sqlite/)
  assert.not(existsSync(path('mistyped.sqlite')))
})

test('a dry run says that nothing was stored', async () => {
  writeFileSync(path('dry.ndjson'), patients('d'))
  const { code, stdout } = await run([path('dry.ndjson'), '--dry-run'])
  assert.is(code, 0)
  assert.match(stdout, /^1 resource checked, nothing was stored$/m)
})

test('wrong arguments exit with 2, and a database that a server has open with 1', async () => {
  const nowhere = await run([path('nowhere.ndjson')])
  assert.is(nowhere.code, 2)
  assert.match(nowhere.stderr, /There is no file or directory/)
  const memory = await run([path('p.ndjson')], ['--memory'])
  assert.is(memory.code, 2)
  assert.match(memory.stderr, /a database in memory ends with this command/)
  assert.is((await run([])).code, 2)
  const server = await serverWith({ settings: { database: { kind: 'sqlite', sqlite_path: database } }, plugins })
  const held = await run([path('p.ndjson')])
  assert.is(held.code, 1)
  assert.match(held.stderr, /another process has .* open; stop that server first/)
  await server.stop()
})

test.run()
