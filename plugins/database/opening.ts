/** Options to open a database, and what this plugin gets from an open one. */
import type { EntitySchema } from '@mikro-orm/core'
import type { AnyPlugin, Clock, Logger, Random } from '../../kernel/index.ts'
import type { Database } from './contract.ts'
import type { FeedHub } from './feed/feed-hub.ts'
import type { CacheSizes } from './sqlite/cache-size.ts'

/** How a process gets the writer lease of the database. */
export interface LeaseOptions {
  /**
   * `wait`: a server, which waits until it has the lease. `try`: a command, which takes the lease where nobody has it, and
   * works beside a running server where that is possible. `read`: a server that never writes, and waits until another one
   * has migrated the database. `none`: it does without, and nothing fences its commits.
   */
  readonly mode: 'wait' | 'try' | 'read' | 'none'
  /** Called once when another process has the lease; `holder` says which, in words. */
  readonly onWait: (holder: string) => void
  /** Called once when a server that never writes waits for these migrations; `onTaken` follows. */
  readonly onUnmigrated: (pending: readonly string[]) => void
  /** Called once when the lease is there. */
  readonly onTaken: () => void
  /** Called once when another process has taken the lease from this one. */
  readonly onLost: () => void
}

export interface OpenOptions {
  readonly kind: 'sqlite' | 'memory' | 'postgres'
  readonly sqlitePath: string
  /** Bytes of the file that may be mapped. */
  readonly sqliteMmapSize: number
  /** Page caches of SQLite. */
  readonly caches: CacheSizes
  /** Needed by the kind postgres. */
  readonly postgresUrl: string | undefined
  /** [cluster] db_pool; the kind's own default when unset. */
  readonly pool: number | undefined
  readonly release: string
  readonly build: string
  readonly plugins: readonly AnyPlugin[]
  readonly entities: () => Promise<readonly EntitySchema<any>[]>
  readonly lease: LeaseOptions
  /** Publishes what is committed. */
  readonly feed: FeedHub
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** An open database, with operations that only this plugin uses. */
export interface Opened {
  readonly database: Omit<Database, 'readOnly' | 'beside' | 'isReader' | 'checkLease'>
  /** Runs one small query; throws or returns false when the database cannot be used. */
  check(signal: AbortSignal): Promise<boolean>
  /** False once the database file was removed or replaced. */
  isInPlace(): boolean
  /** False while another process may have the writer lease, whose changes are not known here. */
  mayAnswer(): boolean
  /** True on a server that only reads, once a newer build has migrated the database. */
  isOutgrown(): boolean
  /** False where this process follows another one, and does not see any more what it commits. */
  isFollowing(): boolean
  close(): Promise<void>
}
