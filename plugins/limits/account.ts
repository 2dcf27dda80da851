/**
 * The quota usage of one caller in one UTC day and its month: the totals that the database had at the last sync, plus
 * what this server has counted since.
 */
import type { Database, SqlParam } from '../database/service.ts'
import type { Periods } from './period.ts'
import type { QuotaLimit } from './quota-limits.ts'
import { addQuota, readQuota, type Totals } from './tables.ts'

const NONE: Readonly<Totals> = Object.freeze({ requests: 0, writes: 0, bytes: 0 })

export interface Account {
  readonly holder: string
  readonly periods: Periods
  /** Counts of this server that are not known to be in the database; callers add to it. */
  readonly since: Totals
  /** Time of the last sync on the monotonic clock, in milliseconds; undefined before the first one. */
  readonly syncedAt: number | undefined
  readonly isDirty: boolean
  /** True during a sync. */
  readonly isSyncing: boolean
  used(limit: QuotaLimit): number
  /** Adds the counts to the database and reads the totals of all servers. Concurrent calls share one sync. */
  sync(): Promise<void>
}

export const openAccount = (
  database: Database,
  monotonic: () => number,
  holder: string,
  periods: Periods,
  /** The account of the day before, whose month may be the same. */
  before: Account | undefined,
): Account => {
  const since: Totals = { ...NONE }
  let known: Record<'day' | 'month', Readonly<Totals>> = { day: NONE, month: NONE }
  let syncedAt: number | undefined
  let syncing: Promise<void> | undefined
  let earlier = before

  const isDirty = (): boolean => since.requests > 0 || since.writes > 0 || since.bytes > 0

  const add = async (delta: Readonly<Totals>): Promise<typeof known> => {
    const params = (period: string): SqlParam[] => [holder, period, delta.requests, delta.writes, delta.bytes]
    // A stop stores ten thousand accounts. A crash of the machine may lose as much as one of the process.
    return database.transact(
      async (transaction) => ({
        day: (await transaction.get<Totals>(addQuota, params(periods.day))) ?? NONE,
        month: (await transaction.get<Totals>(addQuota, params(periods.month))) ?? NONE,
      }),
      { asynchronousCommit: true, shared: true },
    )
  }
  const read = async (): Promise<typeof known> => ({
    day: (await database.get<Totals>(readQuota, [periods.day, holder])) ?? NONE,
    month: (await database.get<Totals>(readQuota, [periods.month, holder])) ?? NONE,
  })
  const work = async (): Promise<void> => {
    while (earlier?.isDirty === true) await earlier.sync()
    earlier = undefined
    const asked = monotonic()
    const delta = { ...since }
    known = isDirty() ? await add(delta) : await read()
    since.requests -= delta.requests
    since.writes -= delta.writes
    since.bytes -= delta.bytes
    syncedAt = asked
  }
  return {
    holder,
    periods,
    since,
    get syncedAt() {
      return syncedAt
    },
    get isDirty() {
      return isDirty()
    },
    get isSyncing() {
      return syncing !== undefined
    },
    used: (limit) => known[limit.in][limit.of] + since[limit.of],
    sync() {
      syncing ??= work().finally(() => {
        syncing = undefined
      })
      return syncing
    },
  }
}
