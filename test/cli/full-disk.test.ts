/** Standard output that cannot be written, as on a full disk: a server goes on without its log, a command ends with one line. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { temporaryFolder } from '../support/database-kinds.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'

const BIN = fileURLToPath(new URL('../../cli/bin.js', import.meta.url))
const FULL = '/dev/full'
const START_MS = 60_000
const folder = temporaryFolder()
test.after(() => folder.remove())

const start = (...args: readonly string[]): ChildProcess => {
  const full = openSync(FULL, 'w')
  try {
    return spawn(process.execPath, [BIN, ...args], {
      cwd: folder.path,
      env: { ...process.env, SERVER_SKIP_DEFAULT_PACKAGES: 'true' },
      stdio: ['ignore', full, 'pipe'],
    })
  } finally {
    closeSync(full)
  }
}
test('a server answers without its log, says once that lines are lost, and ends with 0', async () => {
  const port = await freePort()
  const child = start('--sqlite', join(folder.path, 'a.sqlite'), '--bind', `127.0.0.1:${port}`)
  const errors = text(child.stderr!)
  const ended = once(child, 'exit')
  const statusOf = async (path: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined))?.status ?? 0
  await until(async () => child.exitCode !== null || (await statusOf('/livez')) === 200, START_MS, 'the server')
  // Each request writes a line.
  for (let n = 0; n < 20; n += 1) assert.is(await statusOf('/livez'), 200)
  assert.ok([200, 503].includes(await statusOf('/readyz')))
  child.kill('SIGTERM')
  assert.equal(await ended, [0, null])
  assert.match(await errors, /^server: lines of the log are lost, because they cannot be written: ENOSPC[^\n]*\n$/)
})

test('a command ends with 1 and says why', async () => {
  const child = start('config')
  const errors = text(child.stderr!)
  assert.equal(await once(child, 'exit'), [1, null])
  assert.match(await errors, /^server: the output cannot be written: ENOSPC[^\n]*\n$/)
})

test.run()
