/** The schema as a server that never writes sees it: it waits for the migrations that it knows, and for no others. */
import { every, isServerError, type Logger, type Repeating, systemClock } from '../../../kernel/index.ts'
import { sql } from '../contract.ts'
import { DatabaseNewer, DatabaseRelease } from '../errors.ts'
import type { LeaseOptions } from '../opening.ts'
import { MIGRATION_TABLE } from '../schema.ts'
import { whenStored } from '../when-stored.ts'
import type { Reader } from './reader.ts'

const WATCH_MS = 1_000

/** Names of the migrations that are missing. Throws when this build must not open the database. */
export type LookForPending = () => Promise<readonly string[]>

const REFUSALS: ReadonlySet<string> = new Set([DatabaseNewer.key, DatabaseRelease.key])
const isRefusal = (error: unknown): boolean => isServerError(error) && REFUSALS.has(error.key)

/** Resolves when the database has every migration of this build. Throws when a newer build has migrated it. */
export const whenMigrated = async (
  look: LookForPending,
  lease: Pick<LeaseOptions, 'onUnmigrated' | 'onTaken'>,
  log: Logger,
  signal: AbortSignal | undefined,
): Promise<void> => {
  let isWaiting = false
  await whenStored(signal, async () => {
    try {
      const pending = await look()
      if (pending.length === 0) return true
      if (!isWaiting) lease.onUnmigrated(pending)
      isWaiting = true
    } catch (error) {
      // While it waits the database may be away for a while.
      if (!isWaiting || isRefusal(error)) throw error
      log.debug({ err: error }, 'the schema of the database cannot be looked at')
    }
    return undefined
  })
  lease.onTaken()
}

export interface WatchedSchema {
  /** True once a newer build has migrated the database. */
  readonly isOutgrown: boolean
  stop(): Promise<void>
}

const count = sql('schema.migrations', `SELECT count(*) AS n FROM ${MIGRATION_TABLE}`)

/** Looks each second whether migrations were added, and at them where they were. */
export const watchSchema = (reader: Reader, look: LookForPending, log: Logger): WatchedSchema => {
  let known: string | undefined
  let isOutgrown = false
  const watch = async (): Promise<void> => {
    const [row] = await reader.all(count, [])
    const now = String(row?.n)
    if (isOutgrown || now === known) return
    try {
      await look()
      known = now
    } catch (error) {
      if (!isRefusal(error)) throw error
      isOutgrown = true
      log.error({ err: error }, 'a newer build has migrated the database: this server answers nothing any more')
    }
  }
  const onError = (error: unknown): void => log.debug({ err: error }, 'the schema of the database cannot be looked at')
  const watching: Repeating = every(systemClock, WATCH_MS, watch, onError)
  return {
    get isOutgrown() {
      return isOutgrown
    },
    stop: () => watching.stop(),
  }
}
