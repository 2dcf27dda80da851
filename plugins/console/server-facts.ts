/** What this process is and how it does. */
import { BUILD, type Clock, type MemoryBudget, type Readiness } from '../../kernel/index.ts'
import type { Cluster, Servers } from '../cluster/service.ts'
import type { Database, DatabaseStatus } from '../database/service.ts'

export interface ServerFacts {
  readonly version: string
  readonly node: string
  readonly readiness: Readiness
  readonly role: string
  readonly uptimeMs: number
  readonly database: DatabaseStatus
  /** Who shares the database; undefined where its kind has one server. */
  readonly servers: Servers | undefined
  readonly memory: { readonly resident: number; readonly heap: number; readonly aim: number }
}

export interface ServerFactsParts {
  readonly database: Database
  readonly cluster: Cluster | undefined
  readonly state: () => Promise<Readiness>
  readonly clock: Clock
  readonly memory: MemoryBudget
}

/** A standby answers requests once it has become the primary. */
const roleOf = (cluster: Cluster | undefined): string => {
  const role = cluster?.role ?? 'primary'
  return role === 'standby' ? 'primary, was started as standby' : role
}

export const createServerFacts = ({ database, cluster, state, clock, memory }: ServerFactsParts) => {
  let began = clock.monotonic()
  return {
    async start(): Promise<void> {
      began = clock.monotonic()
    },
    async read(): Promise<ServerFacts> {
      const { rss, heapUsed } = process.memoryUsage()
      return {
        version: BUILD,
        node: process.version,
        readiness: await state(),
        role: roleOf(cluster),
        uptimeMs: clock.monotonic() - began,
        database: database.status(),
        servers: await cluster?.servers(),
        memory: { resident: rss, heap: heapUsed, aim: memory.bytes },
      }
    },
  }
}
