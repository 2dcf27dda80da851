/**
 * A replica without a primary reads on, until it has heard nothing of one for longer than any takeover; one that cannot look
 * for changes answers nothing much sooner. P5 of the replicas.
 */
// database: postgres, the one kind that has replicas
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import cluster from '../../../plugins/cluster/index.ts'
import smart from '../../../plugins/smart/index.ts'
import { createManualClock } from '../../support/manual-clock.ts'
import { freshWith, primaryHere, SECRETS, urlOf } from '../../support/replica-servers.ts'
import { basic, serverWith } from '../../support/server-with.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { until } from '../../support/until.ts'

const STOPPED = 'the replica has stopped following the primary'
const LIFELESS_S = 20
const BLIND_S = 5
/** In the messages of a look for changes: the name of a prepared statement. */
const LOOK = 'feed.mark#'
const SLACK_S = 6 // a look waits for the database, and a probe is good for a second

test('it answers reads for 20 seconds without a sign of life, then nothing, and goes on with the next primary', async () => {
  const fresh = await freshWith()
  const primary = await primaryHere(fresh)
  const clock = createManualClock()
  const replica = await serverWith({
    clock,
    plugins: [...basic, smart, cluster],
    settings: { ...fresh.settings, smart: SECRETS, cluster: { role: 'replica', primary_url: primary.base } },
  })
  const statusOf = async (url: string): Promise<number> => (await replica.inject({ url })).statusCode
  const reason = async (): Promise<string> =>
    ((await replica.inject({ url: '/readyz' })).json() as { reason?: string }).reason ?? 'ok'
  const passSecond = async (): Promise<string> => {
    await clock.advance(1_001)
    return reason()
  }
  let alive = 0
  await until(
    async () => {
      assert.is(await passSecond(), 'ok')
      assert.is(await statusOf('/Patient'), 200)
      alive += 1
      return alive > 2
    },
    10_000,
    'it to follow',
  )
  await primary.stop()
  let seconds = 0
  await until(
    async () => {
      seconds += 1
      const now = await passSecond()
      assert.is(await statusOf('/Patient'), now === 'ok' ? 200 : 503)
      return now === STOPPED
    },
    60_000,
    'it to stop',
  )
  // The last sign of life was heard up to two seconds before. The clock of the test may pass faster than the primary beats,
  // so none may have come while it passed before.
  assert.ok(seconds >= LIFELESS_S - 2 - alive && seconds <= LIFELESS_S + SLACK_S, `${seconds} s`)
  assert.is(await statusOf('/healthz'), 503)
  const next = await primaryHere(fresh)
  await until(async () => (await passSecond()) === 'ok', 60_000, 'it to go on')
  assert.is(await statusOf('/Patient'), 200)
  await replica.stop()
  await next.stop()
  await fresh.remove()
})

test('one that cannot look for changes answers nothing after 5 seconds, though the database and the primary do', async () => {
  const fresh = await freshWith()
  const primary = await primaryHere(fresh)
  const url = new URL(urlOf(fresh))
  const proxy = await startTcpProxy(Number(url.port))
  url.port = String(proxy.port)
  const clock = createManualClock()
  const replica = await serverWith({
    clock,
    plugins: [...basic, smart, cluster],
    settings: {
      database: { kind: 'postgres', postgres_url: url.href },
      smart: SECRETS,
      cluster: { role: 'replica', primary_url: primary.base },
    },
  })
  /** What it says of itself, and the status of a search, a second later. */
  const passSecond = async (): Promise<readonly [reason: string, status: number]> => {
    await clock.advance(1_001)
    const { reason = 'ok' } = (await replica.inject({ url: '/readyz' })).json() as { reason?: string }
    return [reason, (await replica.inject({ url: '/Patient' })).statusCode]
  }
  assert.equal(await passSecond(), ['ok', 200])
  proxy.onClient = (chunk) => (chunk.includes(LOOK) ? 'swallow' : 'pass')
  let seconds = 0
  await until(
    async () => {
      seconds += 1
      const [reason, status] = await passSecond()
      assert.is(status, reason === 'ok' ? 200 : 503)
      return reason === STOPPED
    },
    60_000,
    'it to stop',
  )
  // A look that was under way had left up to a second before.
  assert.ok(seconds >= BLIND_S - 1 && seconds <= BLIND_S + 1, `${seconds} s`)
  proxy.onClient = () => 'pass'
  await until(async () => (await passSecond())[0] === 'ok', 60_000, 'it to go on')
  assert.equal(await passSecond(), ['ok', 200])
  await replica.stop()
  proxy.stop()
  await primary.stop()
  await fresh.remove()
})

test.run()
