/** Whoever floods a server is refused; whoever asks whether it lives is answered. Spec: Limits. */
// database: sqlite, in a process of its own
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { load, toGet } from '../bench/client.ts'
import { assertQuick } from '../support/cpu-time.ts'
import { temporaryFolder } from '../support/database-kinds.ts'
import { spawnServer } from '../support/spawn-server.ts'

const PROBES = 100 // of each, one after the other
const CONNECTIONS = 16
const MAX_MS = 50
const ATTEMPTS = 3 // on a machine that is busy with something else

const folder = temporaryFolder()
test.after(() => folder.remove())

const p99 = (times: readonly number[]): number =>
  times.toSorted((one, other) => one - other)[Math.floor(times.length * 0.99) - 1] ?? Number.POSITIVE_INFINITY

test('under a flood that is refused, /livez and /readyz are never limited and answer within 50 ms', async () => {
  const server = await spawnServer(join(folder.path, 'flood.sqlite'), {
    plugins: ['limits'],
    settings: { rate_limit: { requests_per_second: 5, burst: 20 } },
  })
  const statuses = new Set<number>()
  const refusals = { count: 0 }
  const measure = async (): Promise<number> => {
    const over = new AbortController()
    const flood = load({
      address: server.base,
      connections: CONNECTIONS,
      next: () => toGet(server.base, '/Patient/none'),
      signal: over.signal,
      onRefusal: (status) => {
        if (status === 429) refusals.count += 1
      },
    })
    const times: number[] = []
    for (let n = 0; n < PROBES; n += 1)
      for (const path of ['/livez', '/readyz']) {
        const from = performance.now()
        const answer = await fetch(`${server.base}${path}`)
        await answer.arrayBuffer()
        times.push(performance.now() - from)
        statuses.add(answer.status)
      }
    over.abort()
    await flood
    return p99(times)
  }
  let least = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < ATTEMPTS && least >= MAX_MS; attempt += 1) least = Math.min(least, await measure())
  assertQuick(least, MAX_MS, 'the hundredth probe')
  assert.equal([...statuses], [200])
  assert.ok(refusals.count > PROBES, `${refusals.count} refused`)
  await server.kill()
})

test.run()
