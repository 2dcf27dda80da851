/** The server that writes is killed every five seconds. Row F17. */
import { findLosses } from '../support/losses.ts'
import { startOwnFront } from '../support/own-front.ts'
import { startPostgres } from '../support/postgres.ts'
import { reasonOf } from '../support/replica-servers.ts'
import { until } from '../support/until.ts'
import { whenReady } from '../support/writer-pair.ts'
import { startMixedClients } from './mixed-clients.ts'
import { type SupervisedServer, superviseServer } from './supervised-server.ts'

const CLIENTS = 8
const EVERY_MS = 5_000
const SLOT_MS = 100
const LEAST_SHARE = 0.5
const NAME = 'kills'
const START_MS = 60_000

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export const checkRepeatedKills = async (minutes: number): Promise<readonly string[]> => {
  const postgres = await startPostgres({ settings: { fsync: 'on' } })
  await postgres.createDatabase(NAME)
  const front = await startOwnFront()
  const servers: SupervisedServer[] = []
  const wrong: string[] = []
  try {
    for (const name of ['one', 'other']) {
      const databaseUrl = postgres.url(undefined, NAME)
      servers.push(
        await superviseServer({ name, databasePort: postgres.port, databaseUrl, plugins: ['audit'], settings: {} }),
      )
    }
    const [one, other] = servers as [SupervisedServer, SupervisedServer]
    await front.begin({ writers: [one.base, other.base], reader: one.base })
    const findHolder = async (): Promise<SupervisedServer | undefined> => {
      for (const server of servers) if ((await reasonOf(server).catch(() => 'away')) === 'ok') return server
      return undefined
    }
    await until(async () => (await findHolder()) !== undefined, START_MS, 'one to be ready')
    const clients = startMixedClients(front.address, CLIENTS)
    const end = performance.now() + minutes * 60_000
    let [slots, good, known, kills] = [0, 0, 0, 0]
    const counting = setInterval(() => {
      slots += 1
      if (clients.acknowledged() > known) good += 1
      known = clients.acknowledged()
    }, SLOT_MS)
    while (performance.now() < end) {
      await pause(EVERY_MS)
      const holder = await findHolder()
      if (holder === undefined) continue
      kills += 1
      holder.signal('SIGKILL')
    }
    clearInterval(counting)
    await whenReady({ base: front.address }, START_MS)
    await clients.stop()
    const share = good / slots
    console.log(
      `${kills} kills in ${minutes} minutes; changes were acknowledged in ${Math.round(share * 100)} % of the time; ` +
        `${clients.acknowledged()} in all; answers ${JSON.stringify(Object.fromEntries(clients.statuses))}`,
    )
    if (share < LEAST_SHARE) wrong.push(`changes were acknowledged in ${Math.round(share * 100)} % of the time only`)
    wrong.push(...clients.faults, ...servers.flatMap(({ faults }) => faults))
    await until(async () => (await findHolder()) !== undefined, START_MS, 'one to be ready')
    wrong.push(...(await findLosses((path) => fetch(`${front.address}${path}`), clients.known)))
    const trail = (await (await fetch(`${front.address}/_audit/verify`)).json()) as { readonly ok?: boolean }
    if (trail.ok !== true) wrong.push(`the audit trail is ${JSON.stringify(trail)}`)
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
    await front.stop()
    await postgres.stop()
  }
  return wrong
}
