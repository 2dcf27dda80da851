/** A SQLite file that is damaged, foreign or not to be written stops the start, and stays as it is. */
// database: sqlite, because it is what has a file
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { isServerError } from '../../../kernel/index.ts'
import { temporaryFolder } from '../../support/database-kinds.ts'
import { assertServes } from '../../support/refused.ts'
import { serverWith } from '../../support/server-with.ts'

const folder = temporaryFolder()
test.after(() => folder.remove())
let made = 0
/** A path in a folder of its own, so that what a start leaves beside the file shows. */
const freshPath = (): string => {
  made += 1
  mkdirSync(join(folder.path, String(made)))
  return join(folder.path, String(made), 'test.sqlite')
}
const start = (path: string) => serverWith({ settings: { database: { kind: 'sqlite', sqlite_path: path } } })

let sound: Buffer
test.before(async () => {
  const path = freshPath()
  const server = await start(path)
  for (let n = 0; n < 30; n += 1) await assertServes(server, 'filling')
  const payload = JSON.stringify({ resourceType: 'Binary', contentType: 'text/plain', data: 'QUJD'.repeat(3_000) })
  await server.inject({ method: 'POST', url: '/Binary', headers: { 'content-type': 'application/json' }, payload })
  await server.stop()
  assert.equal(readdirSync(join(path, '..')), ['test.sqlite'])
  sound = readFileSync(path)
})

const refused = async (path: string, message: RegExp, about: string): Promise<void> => {
  const before = statSync(path).isFile() ? readFileSync(path) : undefined
  const beside = readdirSync(join(path, '..'))
  let error: unknown
  const server = await start(path).catch((thrown: unknown) => {
    error = thrown
  })
  await server?.stop()
  assert.ok(isServerError(error), `${about}: it started`)
  assert.match(error.message, message, `${about}: ${error.message}`)
  assert.ok(error.message.includes(path), about)
  assert.match(error.message, /"database" cannot start/)
  if (before !== undefined) assert.ok(readFileSync(path).equals(before), `${about}: the file changed`)
  assert.equal(readdirSync(join(path, '..')), beside, `${about}: something was left beside it`)
}
const refusedBytes = async (bytes: Uint8Array, message: RegExp, about: string): Promise<void> => {
  const path = freshPath()
  writeFileSync(path, bytes)
  await refused(path, message, about)
}
const pageSize = (): number => sound.readUInt16BE(16)

test('a truncated file is refused (row 85)', async () => {
  const size = pageSize()
  for (const length of [
    1,
    15,
    16,
    50,
    99,
    100,
    512,
    size - 1,
    size,
    size + 1,
    sound.length / 2,
    sound.length - size,
    sound.length - 1,
  ])
    await refusedBytes(
      sound.subarray(0, length),
      /damaged|not a database of this server/,
      `${length} of ${sound.length} bytes`,
    )
})

test('a file with any one page turned over is refused (row 85)', async () => {
  const size = pageSize()
  const pages = sound.length / size
  assert.ok(pages > 10)
  for (let page = 0; page < pages; page += 1) {
    const bytes = Buffer.from(sound)
    for (let at = page * size; at < (page + 1) * size; at += 1) bytes[at] = (bytes[at] as number) ^ 0xff
    await refusedBytes(bytes, /damaged|not a database of this server/, `page ${page + 1} of ${pages}`)
  }
})

test('a file with a page of zeros or of another place is refused (row 85)', async () => {
  const size = pageSize()
  // Pages of trees. A page that only carries on a long text has no form of its own that could be checked.
  for (const page of [1, 2, 5, 8]) {
    const zeros = Buffer.from(sound)
    zeros.fill(0, page * size, (page + 1) * size)
    await refusedBytes(zeros, /damaged/, `zeros on page ${page + 1}`)
    const moved = Buffer.from(sound)
    sound.copy(moved, page * size, 0, size)
    await refusedBytes(moved, /damaged/, `page 1 on page ${page + 1}`)
  }
})

test('a file with a header that lies is refused (row 85)', async () => {
  for (const [about, at, bytes] of [
    ['page size 0', 16, [0, 0]],
    ['page size 3', 16, [0, 3]],
    ['another page size', 16, [0x20, 0]],
    ['more pages than there are', 28, [0x7f, 0xff, 0xff, 0xff]],
    ['schema format 9', 44, [0, 0, 0, 9]],
    ['UTF-16', 56, [0, 0, 0, 2]],
    ['another application', 68, [0, 0, 0, 1]],
    ['no application', 68, [0, 0, 0, 0]],
    ['reserved space', 20, [255]],
    ['a write version of the future', 18, [9, 9]],
  ] as const) {
    const changed = Buffer.from(sound)
    changed.set(bytes, at)
    await refusedBytes(changed, /damaged|not a database of this server/, about)
  }
})

test('a file that may not be written is refused (row 85)', async () => {
  const path = freshPath()
  writeFileSync(path, sound)
  chmodSync(path, 0o444)
  await refused(path, /cannot be written/, 'read-only')
})

test('a file of another application is refused (row 85)', async () => {
  const path = freshPath()
  const other = new BetterSqlite(path)
  other.exec('CREATE TABLE resource (id text); INSERT INTO resource VALUES (1)')
  other.close()
  await refused(path, /not a database of this server/, 'another SQLite file')
  const marked = freshPath()
  const browser = new BetterSqlite(marked)
  browser.pragma('application_id = 252006675')
  browser.exec('CREATE TABLE moz (id text)')
  browser.close()
  await refused(marked, /not a database of this server/, 'a browser’s file')
  for (const bytes of [
    'hello, world\n'.repeat(100),
    'SQLite format 2\0',
    '{"resourceType":"Patient"}',
    'PK\x03\x04',
    '\x7fELF',
    '\0'.repeat(8_192),
  ])
    await refusedBytes(Buffer.from(bytes, 'latin1'), /not a database of this server/, bytes.slice(0, 20))
  const directory = freshPath()
  mkdirSync(directory)
  await refused(directory, /not a database of this server/, 'a directory')
})

test('a sound file starts, an empty one is made a database (row 85)', async () => {
  for (const bytes of [sound, Buffer.alloc(0)]) {
    const path = freshPath()
    writeFileSync(path, bytes)
    const server = await start(path)
    await assertServes(server, 'row 85')
    await server.stop()
  }
})

test.run()
