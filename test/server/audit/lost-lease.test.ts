/** A server that loses the writer lease leaves the events that wait for the trail to the one that has it. */
// database: postgres, the one kind whose lease can be lost
// waits: for a lease that runs out
import pg from 'pg'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { freshWith, type Json, urlOf } from '../../support/replica-servers.ts'
import { type SpawnedServer, spawnServer } from '../../support/spawn-server.ts'
import { until } from '../../support/until.ts'
import { KEY } from './audited.ts'

const TAKEOVER_MS = 15_000
const GONE_MS = 15_000
const RESTART = 75
const READS = 40

test('reads that were answered before their server stood still are in the trail', async () => {
  const fresh = await freshWith(['audit'])
  const onlooker = new pg.Client(urlOf(fresh))
  const started: SpawnedServer[] = []
  const start = async (isEarly: boolean): Promise<SpawnedServer> => {
    const server = await spawnServer(fresh.settings, { plugins: ['audit'], settings: { audit: { key: KEY } }, isEarly })
    started.push(server)
    return server
  }
  const reasonOf = async ({ base }: SpawnedServer): Promise<string> =>
    ((await (await fetch(`${base}/readyz`)).json()) as { reason?: string }).reason ?? 'ok'
  try {
    const first = await start(false)
    const second = await start(true)
    await until(async () => (await reasonOf(second)) === 'waiting for the writer lease', GONE_MS, 'the second to wait')
    await onlooker.connect()
    // The lock keeps the first server from writing into the trail, so all events wait.
    await onlooker.query('BEGIN; LOCK TABLE audit_event IN EXCLUSIVE MODE')
    const requests = Array.from({ length: READS }, (_, at) => `waits-${at}`)
    for (const id of requests) {
      const answer = await fetch(`${first.base}/Patient`, { headers: { 'x-request-id': id } })
      assert.is(answer.status, 200)
    }
    first.child.kill('SIGSTOP')
    await onlooker.query('ROLLBACK')
    await until(async () => (await reasonOf(second)) === 'ok', TAKEOVER_MS, 'the takeover')
    first.child.kill('SIGCONT')
    await until(() => first.child.exitCode !== null, GONE_MS, 'the former holder to end')
    assert.is(first.child.exitCode, RESTART)
    const lines = (await (await fetch(`${second.base}/_audit?_format=ndjson`)).text()).trimEnd().split('\n')
    const recorded = lines.flatMap((line) => line.match(/waits-\d+/)?.[0] ?? [])
    assert.equal(recorded.sort(), [...requests].sort(), 'each once')
    const verdict = (await (await fetch(`${second.base}/_audit/verify`)).json()) as Json
    assert.is(verdict.ok, true, JSON.stringify(verdict))
  } finally {
    for (const server of started) server.child.kill('SIGCONT')
    await Promise.all(started.map((server) => server.kill()))
    await onlooker.end()
    await fresh.remove()
  }
})

test.run()
