/** The memory that a server holds after some thousand requests, beside one that is started without any bound. */
// database: sqlite, because what the options of the process bound is the same on each
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { load, toGet, toSend } from '../bench/client.ts'
import { asShipped } from '../support/as-shipped.ts'
import { temporaryFolder } from '../support/database-kinds.ts'
import { spawnServer } from '../support/spawn-server.ts'

const REQUESTS = 8_000
const folder = temporaryFolder()
test.after(() => folder.remove())

/** Anonymous bytes: https://man7.org/linux/man-pages/man5/proc_pid_status.5.html */
const anonymousOf = (pid: number | undefined): number =>
  Number(/^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024

const holdAfterLoad = async (name: string, node?: ReturnType<typeof asShipped>): Promise<number> => {
  const server = await spawnServer(`${folder.path}/${name}.sqlite`, node === undefined ? {} : { node })
  const { base: address } = server
  let at = 0
  const next = (): Buffer | string => {
    at += 1
    if (at % 2 === 0) return toGet(address, `/Patient?_count=${10 + (at % 40)}`)
    const given = Array.from({ length: 20 }, (_, n) => `Given${at}-${n}`)
    const text = JSON.stringify({ resourceType: 'Patient', name: [{ family: `Held${at % 40}`, given }] })
    return toSend(address, 'POST', '/Patient', text)
  }
  try {
    await load({ address, connections: 16, requests: REQUESTS, next })
    return anonymousOf(server.child.pid)
  } finally {
    await server.end('SIGTERM')
  }
}

// Elsewhere the figure is not there, and a process cannot be replaced on Windows.
if (existsSync('/proc/self/status'))
  test('the options that a server is started with keep down what it holds after thousands of requests', async () => {
    const free = await holdAfterLoad('free')
    const bounded = await holdAfterLoad('bounded', asShipped())
    assert.ok(bounded < free * 0.85, `${bounded} bytes with them, ${free} without`)
  })

test.run()
