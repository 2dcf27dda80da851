/**
 * A primary, a standby and a replica behind a balancer, under mixed load, with faults by chance: processes are killed, stopped
 * and stand still, connections to the database are cut and go silent, PostgreSQL is restarted and stands still. Row F22.
 */
import { createSeededRandom } from '../fuzz/random.ts'
import { findLosses } from '../support/losses.ts'
import { startOwnFront } from '../support/own-front.ts'
import { startPostgres } from '../support/postgres.ts'
import { reasonOf } from '../support/replica-servers.ts'
import { until } from '../support/until.ts'
import { startMixedClients } from './mixed-clients.ts'
import { type SupervisedServer, superviseServer } from './supervised-server.ts'

const CLIENTS = 8
const NAME = 'mixed'
const SECRETS = { dcr_token: 'd'.repeat(32), confidential_secret: 'c'.repeat(32) }
const PLUGINS = ['smart', 'cluster', 'audit', 'limits', 'metering', 'request-log', 'references', 'sync']
const START_MS = 60_000
const RECOVERY_MS = 60_000 // after the faults, for all three
const ALIVE_MS = 45_000 // the longest time without a change that was acknowledged
const SILENT_MS = 12_000 // until the system closes a connection that is silent
const CALM = 0.5 // of the minutes, after them, without faults: then memory is judged
const MAX_GROWTH = 1.3 // of the last third over the second
const MAX_FILES = 30 // more at the end than in the middle

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const medianOf = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN
const thirdsOf = (values: readonly number[]): readonly [middle: number, last: number] => {
  const third = Math.floor(values.length / 3)
  return [medianOf(values.slice(third, 2 * third)), medianOf(values.slice(2 * third))]
}

/**
 * A sentence where the memory or the open files of a server grow while nothing is done to it. A server that has just started
 * grows for minutes, so lifetimes that a fault ends say nothing.
 */
const growthOf = ({ name, lifetimes }: SupervisedServer, from: number): readonly string[] => {
  const { memory = [], files = [] } = lifetimes.at(-1) ?? {}
  const [middle, last] = thirdsOf(memory.slice(from))
  const [filesBefore, filesAfter] = thirdsOf(files.slice(from))
  const shown = `${name} had ${middle.toFixed(0)} and then ${last.toFixed(0)} MB, ${filesBefore} and then ${filesAfter} open files`
  console.log(`${shown} in ${memory.length - from} s without faults`)
  return last <= middle * MAX_GROWTH && filesAfter <= filesBefore + MAX_FILES ? [] : [shown]
}

export const checkMixedFaults = async (minutes: number, seed: number): Promise<readonly string[]> => {
  const random = createSeededRandom(seed)
  const postgres = await startPostgres({ settings: { fsync: 'on' } })
  await postgres.createDatabase(NAME)
  const front = await startOwnFront()
  const wrong: string[] = []
  const servers: SupervisedServer[] = []
  const start = async (role: 'primary' | 'standby' | 'replica'): Promise<SupervisedServer> => {
    const cluster = role === 'replica' ? { role, primary_url: front.primaryUrl } : { role }
    const generous = { requests_per_second: 1e6, burst: 1e6, anonymous_requests_per_second: 1e6, anonymous_burst: 1e6 }
    const server = await superviseServer({
      ...{ name: role, plugins: PLUGINS, databasePort: postgres.port, databaseUrl: postgres.url(undefined, NAME) },
      settings: { smart: SECRETS, cluster, rate_limit: generous, request_log: { store: true } },
    })
    servers.push(server)
    return server
  }
  /** Each resolves when the fault is over; what it leads to goes on. */
  const freeze = async (server: SupervisedServer, ms: number): Promise<void> => {
    server.signal('SIGSTOP')
    await pause(ms)
    server.signal('SIGCONT')
  }
  const faults: readonly (readonly [name: string, weight: number, strike: (one: SupervisedServer) => Promise<void>])[] =
    [
      ['SIGKILL', 4, async (one) => one.signal('SIGKILL')],
      ['SIGTERM', 3, async (one) => one.signal('SIGTERM')],
      ['standing still for a moment', 4, (one) => freeze(one, 200 + random.int(3_000))],
      ['standing still for long', 3, (one) => freeze(one, 9_000 + random.int(8_000))],
      ['cut connections', 4, async (one) => one.proxy.cut()],
      [
        'silent connections',
        3,
        async (one) => {
          setTimeout(one.proxy.silence(), SILENT_MS).unref()
        },
      ],
      ['restart of PostgreSQL', 1, () => postgres.restart(random.chance(0.5) ? 'fast' : 'immediate')],
      [
        'PostgreSQL standing still',
        1,
        async () => {
          postgres.freeze()
          await pause(500 + random.int(6_000))
          postgres.thaw()
        },
      ],
    ]
  const pool = faults.flatMap((fault) => Array.from({ length: fault[1] }, () => fault))
  const struck = new Map<string, number>()
  try {
    const [primary, standby, replica] = [await start('primary'), await start('standby'), await start('replica')]
    await front.begin({ writers: [primary.base, standby.base], reader: replica.base })
    await until(
      async () => (await reasonOf(primary)) === 'ok' && (await reasonOf(replica)) === 'ok',
      START_MS,
      'a start',
    )
    const clients = startMixedClients(front.address, CLIENTS)
    const end = performance.now() + minutes * 60_000
    let newest = performance.now()
    let longest = 0
    let count = 0
    const watching = setInterval(() => {
      const now = performance.now()
      if (clients.acknowledged() > count) newest = now
      count = clients.acknowledged()
      longest = Math.max(longest, now - newest)
    }, 100)
    while (performance.now() < end) {
      await pause(2_000 + random.int(8_000))
      const [name, , strike] = pool[random.int(pool.length)] as (typeof faults)[number]
      const victim = servers[random.int(servers.length)] as SupervisedServer
      struck.set(name, (struck.get(name) ?? 0) + 1)
      await strike(victim)
    }
    const areWell = async (): Promise<boolean> => {
      const reasons = await Promise.all(servers.map((one) => reasonOf(one).catch(() => 'away')))
      const [writers, reader] = [reasons.slice(0, 2).sort(), reasons[2]]
      return writers.join() === 'ok,waiting for the writer lease' && reader === 'ok'
    }
    await until(areWell, RECOVERY_MS, 'all servers to be well').catch((error: Error) => wrong.push(error.message))
    clearInterval(watching)
    // One that waits is not ready, and has no samples.
    const calm = servers.map((one) => ({
      one,
      count: one.lifetimes.length,
      from: one.lifetimes.at(-1)?.memory.length ?? 0,
    }))
    await pause(minutes * 60_000 * CALM)
    await clients.stop()
    for (const { one, count, from } of calm) {
      if (one.lifetimes.length > count) wrong.push(`${one.name} ended while nothing was done to it`)
      if (one.lifetimes.at(-1)?.memory.length !== from) wrong.push(...growthOf(one, from))
    }
    console.log(`faults: ${JSON.stringify(Object.fromEntries(struck))}`)
    for (const { name, ends } of servers) console.log(`ends of the ${name}: ${JSON.stringify(ends)}`)
    console.log(
      `${clients.acknowledged()} changes acknowledged; answers ${JSON.stringify(Object.fromEntries(clients.statuses))}; ` +
        `the longest time without one was ${(longest / 1000).toFixed(1)} s`,
    )
    if (longest > ALIVE_MS) wrong.push(`for ${(longest / 1000).toFixed(1)} s no change was acknowledged`)
    wrong.push(...clients.faults, ...servers.flatMap(({ faults }) => faults))
    wrong.push(...(await findLosses((path) => fetch(`${front.address}${path}`), clients.known)))
    const trail = (await (await fetch(`${front.address}/_audit/verify`)).json()) as { readonly ok?: boolean }
    console.log(`the audit trail is ${JSON.stringify(trail)}`)
    if (trail.ok !== true) wrong.push(`the audit trail is ${JSON.stringify(trail)}`)
  } finally {
    postgres.thaw()
    await Promise.all(servers.map((one) => one.stop()))
    await front.stop()
    await postgres.stop()
  }
  return wrong
}
