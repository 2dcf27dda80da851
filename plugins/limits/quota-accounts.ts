/** The accounts of quotas that are in memory, and how their counts reach the database. */
import type { Clock } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import { type Account, openAccount } from './account.ts'
import { createAccounts, isAddress } from './accounts.ts'
import { foldAddresses, OTHERS } from './fold.ts'
import { createCalendar, type Periods } from './period.ts'
import type { QuotaLimit } from './quota-limits.ts'
import type { Totals } from './tables.ts'

const AT_ONCE = 50 // accounts synced at a time

export interface QuotaAccountsParts {
  readonly database: Database
  readonly clock: Clock
  /** Milliseconds after which the counts of other servers are read again. */
  readonly syncMs: number
  /** Limits of addresses without a token. */
  readonly ofAddresses: readonly QuotaLimit[]
  /** Number of addresses without a token that are counted separately. */
  readonly mostAddresses: number
}

export interface QuotaAccounts {
  /** The account of a holder for today. */
  of(holder: string): Account
  /** Whether the database must be read before the account decides. */
  isStale(account: Account): boolean
  /** Whether the account is that of today. */
  isCurrent(account: Account): boolean
  /** Adds to an account, also when its day is over or it was closed meanwhile. */
  add(account: Account, what: keyof Totals, count: number): void
  /** Brings all counts to the database. */
  syncAll(): Promise<void>
}

export const createQuotaAccounts = ({
  database,
  clock,
  syncMs,
  ofAddresses,
  mostAddresses,
}: QuotaAccountsParts): QuotaAccounts => {
  const periodsAt = createCalendar()
  const accounts = createAccounts(mostAddresses, (account) =>
    ofAddresses.reduce((sum, limit) => sum + account.used(limit) / limit.most, 0),
  )
  /** Accounts of past days with counts that are not in the database yet. */
  const past = new Set<Account>()
  /** Accounts of addresses that were closed, and whose counts were added to the common account of addresses. */
  const retired = new WeakSet<Account>()

  const retire = (account: Account): void => {
    if (account.isSyncing) return void past.add(account) // its counts are being written to its own row
    retired.add(account)
    const { since } = accountOf(OTHERS)
    for (const what of ['requests', 'writes', 'bytes'] as const) {
      since[what] += account.since[what]
      account.since[what] = 0
    }
  }

  const accountOf = (holder: string): Account => {
    const periods = periodsAt(clock.now())
    const known = accounts.get(holder)
    if (known?.periods === periods) return known
    if (known?.isDirty) past.add(known)
    const account = openAccount(database, clock.monotonic, holder, periods, known)
    const gone = accounts.set(holder, account)
    if (gone !== undefined) retire(gone)
    return account
  }

  const isStale = ({ syncedAt }: Account): boolean => syncedAt === undefined || clock.monotonic() - syncedAt >= syncMs

  /** Rows of addresses written since the last fold, and the day of that fold. */
  let written = Number.POSITIVE_INFINITY
  let foldedOn: Periods | undefined
  const fold = async (): Promise<void> => {
    const periods = periodsAt(clock.now())
    if (written < mostAddresses / 10 && foldedOn === periods) return
    await foldAddresses(database, periods, ofAddresses, mostAddresses)
    written = 0
    foldedOn = periods
  }

  const syncAll = async (): Promise<void> => {
    const due = [...past, ...accounts.all()].filter((account) => account.isDirty)
    for (let at = 0; at < due.length; at += AT_ONCE)
      await Promise.all(due.slice(at, at + AT_ONCE).map((account) => account.sync()))
    written += due.filter(({ holder }) => isAddress(holder)).length
    for (const account of past) if (!account.isDirty) past.delete(account)
    // The database is read again when the holder comes back.
    for (const account of accounts.all())
      if (!account.isDirty && !account.isSyncing && isStale(account)) accounts.delete(account.holder)
    await fold()
  }

  return {
    of: accountOf,
    isStale,
    isCurrent: ({ periods }) => periods === periodsAt(clock.now()),
    add(own, what, count) {
      const account = retired.has(own) ? accountOf(OTHERS) : own
      account.since[what] += count
      if (accounts.get(account.holder) !== account) past.add(account)
    },
    syncAll,
  }
}
