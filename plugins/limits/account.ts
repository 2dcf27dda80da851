/**
 * What one caller has used of its quotas in one UTC day and its month: what the database knew when it was last asked,
 * and what was counted here since.
 */
import type { Database, SqlParam } from '../database/service.ts'
import type { Periods } from './period.ts'
import type { QuotaLimit } from './quota-limits.ts'
import { addQuota, readQuota, type Totals } from './tables.ts'

const NONE: Readonly<Totals> = Object.freeze({ requests: 0, writes: 0, bytes: 0 })

export interface Account {
  readonly holder: string
  readonly periods: Periods
  /** Counted here and not known to be in the database; to be added to. */
  readonly since: Totals
  /** When the database was last asked, on the monotonic clock; undefined before the first time. */
  readonly syncedAt: number | undefined
  readonly isDirty: boolean
  /** True while the database is being asked. */
  readonly isSyncing: boolean
  used(limit: QuotaLimit): number
  /** Adds to the database what was counted, and learns what others counted. Calls at the same time are one. */
  sync(): Promise<void>
}

export const openAccount = (
  database: Database,
  monotonic: () => number,
  holder: string,
  periods: Periods,
  /** Of the day before, whose month may be the same. */
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
    return database.transact(async (transaction) => ({
      day: (await transaction.get<Totals>(addQuota, params(periods.day))) ?? NONE,
      month: (await transaction.get<Totals>(addQuota, params(periods.month))) ?? NONE,
    }))
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
