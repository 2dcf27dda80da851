/** What a kind of database is opened with, and what an open one is to its plugin. */
import type { EntitySchema } from '@mikro-orm/core'
import type { AnyPlugin, Clock, Logger, Random } from '../../kernel/index.ts'
import type { Database } from './contract.ts'

export interface OpenOptions {
  readonly kind: 'sqlite' | 'memory' | 'postgres'
  readonly sqlitePath: string
  /** Bytes of the file that may be mapped. */
  readonly sqliteMmapSize: number
  /** Needed by the kind postgres. */
  readonly postgresUrl: string | undefined
  /** [cluster] db_pool; the kind's own default when unset. */
  readonly pool: number | undefined
  readonly release: string
  readonly build: string
  readonly plugins: readonly AnyPlugin[]
  readonly entities: () => Promise<readonly EntitySchema<any>[]>
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** An open database and what only its plugin may do with it. */
export interface Opened {
  readonly database: Omit<Database, 'readOnly'>
  /** One small query; throws or answers false when the database cannot be used. */
  check(signal: AbortSignal): Promise<boolean>
  /** False from when the file of the database was removed or replaced. */
  isInPlace(): boolean
  close(): Promise<void>
}
