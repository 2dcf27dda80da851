/** A SQLite file that is shorter than its header says: sound when its log holds the missing pages, truncated when not. */
// database: sqlite, because it is what has a file
import { cpSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import audit from '../../plugins/audit/index.ts'
import { temporaryFolder } from '../support/database-kinds.ts'
import { basic, serverWith, type TestServer } from '../support/server-with.ts'
import { spawnServer } from '../support/spawn-server.ts'
import { createWorld } from '../support/world.ts'

const PAGE_BYTES = 4_096
const LOG_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24

const folder = temporaryFolder()
test.after(() => folder.remove())
let made = 0
const freshPath = (): string => {
  made += 1
  mkdirSync(join(folder.path, String(made)))
  return join(folder.path, String(made), 'test.sqlite')
}
const start = (path: string): Promise<TestServer> =>
  serverWith({ plugins: [...basic, audit], settings: { database: { kind: 'sqlite', sqlite_path: path } } })
const command = (path: string, ...argv: string[]) =>
  createWorld({ plugins: [...basic, audit], folder: join(path, '..'), argv: [...argv, '--sqlite', path] }).run()

/** The last committed version of page 1 in the log. */
const loggedFirstPage = (log: Buffer): Buffer => {
  let found: Buffer | undefined
  for (let at = LOG_HEADER_BYTES; at + FRAME_HEADER_BYTES < log.length; at += FRAME_HEADER_BYTES + PAGE_BYTES) {
    if (!log.subarray(at + 8, at + 16).equals(log.subarray(16, 24))) break
    const start = at + FRAME_HEADER_BYTES
    if (log.readUInt32BE(at) === 1) found = log.subarray(start, start + PAGE_BYTES)
  }
  assert.ok(found)
  return found as Buffer
}

/** What a checkpoint leaves that is killed after its first write: page 1 counts pages that the file does not hold. */
const interruptCheckpoint = (path: string): void => {
  const file = readFileSync(path)
  const first = loggedFirstPage(readFileSync(`${path}-wal`))
  assert.ok(first.readUInt32BE(28) * PAGE_BYTES > file.length)
  first.copy(file)
  writeFileSync(path, file)
}

/** What a server leaves that is killed after it created patients that need pages behind the end of the file. */
const grown = freshPath()
const ids: string[] = []
test.before(async () => {
  await (await start(grown)).stop()
  const server = await spawnServer(grown, { plugins: ['audit'] })
  for (let count = 0; count < 60; count += 1) {
    const answer = await fetch(`${server.base}/Patient`, {
      method: 'POST',
      headers: { 'content-type': 'application/fhir+json' },
      body: JSON.stringify({ resourceType: 'Patient', name: [{ family: `family ${count}`.repeat(2_000) }] }),
    })
    assert.is(answer.status, 201)
    ids.push(((await answer.json()) as { id: string }).id)
  }
  await server.kill()
  interruptCheckpoint(grown)
})

/** A copy of what the killed server left. */
const shortFile = (): string => {
  const path = freshPath()
  cpSync(dirname(grown), dirname(path), { recursive: true })
  return path
}

test('after a kill in the middle of a checkpoint the server starts and has everything', async () => {
  const path = shortFile()
  const server = await start(path)
  for (const id of ids) assert.is((await server.inject(`/Patient/${id}`)).statusCode, 200)
  await server.stop()
  const again = await start(path)
  assert.is((await again.inject('/Patient?_summary=count')).json().total, ids.length)
  await again.stop()
})

test('migrate --status and audit verify read such a file', async () => {
  const path = shortFile()
  const status = await command(path, 'migrate', '--status')
  assert.is(status.code, 0, status.stderr)
  const verify = await command(path, 'audit', 'verify')
  assert.is(verify.code, 0, verify.stderr)
})

const LOGS: Readonly<Record<string, (path: string) => void>> = {
  'without a log': (path) => rmSync(`${path}-wal`),
  'with an empty log': (path) => truncateSync(`${path}-wal`, 0),
  'with a log of which no commit is left': (path) => truncateSync(`${path}-wal`, LOG_HEADER_BYTES),
  'with a log that lost its end': (path) => truncateSync(`${path}-wal`, LOG_HEADER_BYTES + 200_000),
}
for (const [how, change] of Object.entries(LOGS))
  test(`${how} a short file is refused as damaged and left as it is`, async () => {
    const path = shortFile()
    change(path)
    const before = readFileSync(path)
    let message = 'it started'
    try {
      await (await start(path)).stop()
    } catch (error) {
      message = (error as Error).message
    }
    assert.match(message, /test\.sqlite is damaged: it holds \d+ of \d+ bytes/)
    assert.ok(readFileSync(path).equals(before))
  })

test.run()
