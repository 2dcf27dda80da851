/**
 * Stops every process of PostgreSQL where it stands, for a while, under writers, and lets it go on. The server, as it is
 * shipped and in a process of its own, must say so and recover alone: `npm run check:frozen -- [seconds] [writers]`.
 */
import { createPlace, startHouse } from '../bench/house.ts'
import { findLosses } from '../support/losses.ts'
import { startPostgres } from '../support/postgres.ts'
import { createProbe } from './probe.ts'
import { createWriters } from './writers.ts'

const WARM_MS = 3_000
const AFTER_MS = 5_000 // of writing once it goes on
const UNREADY_MS = 3_500 // the check may take two seconds, and the one before it is good for one
const READY_MS = 5_000
const ANSWER_MS = 10_000 // the longest that a request may take
const MAX_GROWTH = 100 * 1024 * 1024 // bytes

const [seconds = 30, count = 8] = process.argv.slice(2).map(Number)
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const wrong: string[] = []
const expect = (isSo: boolean, sentence: string): void => {
  console.log(`${isSo ? 'ok   ' : 'WRONG'} ${sentence}`)
  if (!isSo) wrong.push(sentence)
}
const shown = (ms: number | undefined): string => (ms === undefined ? 'never' : `after ${(ms / 1000).toFixed(1)} s`)

const postgres = await startPostgres({ settings: { fsync: 'on' } })
await postgres.createDatabase('frozen')
const place = createPlace()
try {
  const settings = {
    database: { kind: 'postgres', postgres_url: postgres.url(undefined, 'frozen') },
    conformance: { update_as_create: true },
  }
  const house = await startHouse({ cores: { server: undefined, description: '' } }, place, { settings })
  try {
    const ask = (path: string): Promise<Response> => fetch(`${house.address}${path}`)
    const writers = createWriters(house.address, count)
    const probe = createProbe(ask, async () => (await house.cpu()).rss)
    await pause(WARM_MS)
    probe.begin()
    await pause(WARM_MS)
    const before = writers.take()
    const rss = probe.take().most
    console.log(
      `${before.acknowledged} writes acknowledged, ${Math.round(rss / 1024 / 1024)} MB; frozen for ${seconds} s`,
    )

    postgres.freeze()
    await pause(seconds * 1000)
    const frozen = writers.take()
    const seen = probe.take()
    postgres.thaw()
    await pause(AFTER_MS)
    const thawed = probe.take()
    const after = writers.take()
    await Promise.all([writers.stop(), probe.stop()])
    const last = writers.take()

    expect(seen.unready !== undefined && seen.unready <= UNREADY_MS, `/readyz was 503 ${shown(seen.unready)}`)
    expect(seen.readyAgain === undefined, '/readyz stayed 503')
    expect(thawed.ready !== undefined && thawed.ready <= READY_MS, `/readyz was 200 ${shown(thawed.ready)} of going on`)
    const alive = [...seen.alive, ...thawed.alive]
    expect(alive.length > 0 && alive.every((status) => status === 200), `/livez was 200, ${alive.length} times`)
    const all = [before, frozen, after, last]
    const statuses = [...new Set(all.flatMap((one) => [...one.statuses.keys()]))]
    expect(
      statuses.every((status) => [200, 201, 503].includes(status)),
      `answers were ${statuses.sort().join(', ')}; while it was frozen ${JSON.stringify(Object.fromEntries(frozen.statuses))}`,
    )
    const unclean = all.flatMap((one) => one.unclean)
    expect(unclean.length === 0, `every refusal was an OperationOutcome ${unclean.slice(0, 3).join(' ')}`)
    const longest = Math.max(...all.map((one) => one.longest))
    expect(longest <= ANSWER_MS, `the longest answer took ${(longest / 1000).toFixed(1)} s`)
    expect(after.acknowledged > 0, `${after.acknowledged} writes were acknowledged once it went on`)
    const most = Math.max(seen.most, thawed.most)
    expect(most - rss < MAX_GROWTH, `memory was ${Math.round(most / 1024 / 1024)} MB at most`)
    const losses = await findLosses(ask, writers.known)
    expect(
      losses.length === 0,
      `${writers.known.created.length} creates and all versions are there ${losses.slice(0, 5)}`,
    )
    const trail = (await (await ask('/_audit/verify')).json()) as { ok?: boolean }
    expect(trail.ok === true, `the audit trail is ${JSON.stringify(trail)}`)
  } finally {
    await house.stop()
  }
} finally {
  postgres.thaw()
  place.remove()
  await postgres.stop()
}
process.exitCode = wrong.length === 0 ? 0 : 1
