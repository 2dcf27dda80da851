/**
 * Servers count each other: each increments a number of its own every ten seconds, and a server whose number rises is
 * alive. Clocks of different servers are not compared. Spec: [rate_limit] servers.
 */
import { type Clock, every, type Logger, type Random, type Repeating } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import type { CountedServerShare } from './server-share.ts'
import { forgetServer, heartbeat, listServers, type ServerRow } from './tables.ts'

export const BEAT_MS = 10_000 // spec: heartbeat every ten seconds
// Two missed heartbeats. It is checked every ten seconds, so a server that died is noticed within thirty.
const DEAD_MS = 19_000
const FORGET_MS = 60_000

interface Other {
  beat: number
  /** When its number last rose, on our monotonic clock. */
  rose: number
  /** Whether its number has risen since we wrote ours: then it has seen us. */
  knowsUs: boolean
}

export interface HeartbeatParts {
  readonly database: Database
  readonly share: CountedServerShare
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

export const createHeartbeat = ({ database, share, clock, random, log }: HeartbeatParts) => {
  const own = random.id()
  const others = new Map<string, Other>()
  let count = 0
  let repeating: Repeating | undefined

  const note = (rows: readonly ServerRow[]): void => {
    const now = clock.monotonic()
    const present = new Set(rows.map(({ server }) => server))
    for (const server of others.keys()) if (!present.has(server)) others.delete(server)
    for (const { server, beat: number } of rows) {
      if (server === own) continue
      const known = others.get(server)
      // A server that starts after us reads our number when it first writes its own.
      if (known === undefined) others.set(server, { beat: number, rose: now, knowsUs: count > 1 })
      else if (known.beat !== number) Object.assign(known, { beat: number, rose: now, knowsUs: true })
    }
    const alive = [...others.values()].filter(({ rose }) => now - rose < DEAD_MS)
    share.set(
      alive.length + 1,
      alive.some(({ knowsUs }) => !knowsUs),
    )
  }
  const work = async (): Promise<void> => {
    count += 1
    const rows = await database.transact(
      async (transaction) => {
        await transaction.run(heartbeat, [own, count])
        const found = await transaction.all<ServerRow>(listServers, [])
        for (const { server, beat: number } of found) {
          const other = others.get(server)
          if (other?.beat === number && clock.monotonic() - other.rose >= FORGET_MS)
            await transaction.run(forgetServer, [server, number])
        }
        return found
      },
      { shared: true },
    )
    note(rows)
  }
  return {
    async start(): Promise<void> {
      await work()
      repeating = every(clock, BEAT_MS, work, (error) =>
        log.warn({ err: error }, 'the servers that share the limits could not be counted; tried again in ten seconds'),
      )
    },
    async stop(): Promise<void> {
      if (repeating === undefined) return
      await repeating.stop()
      // The other servers share this server's part from their next heartbeat on.
      await database.transact(
        async (transaction) => {
          await transaction.run(forgetServer, [own, count])
        },
        { shared: true },
      )
    },
  }
}
