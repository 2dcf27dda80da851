/**
 * Quotas: totals per client that may not be exceeded in a UTC day or month. They are counted in memory and, within
 * `refresh_seconds`, added up with the counts of other servers. Spec: [quota].
 */
import {
  ANONYMOUS,
  type Clock,
  type Committed,
  counted,
  every,
  type Logger,
  type Repeating,
  type RequestContext,
  type ServerError,
  type Usage,
} from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import { type Account, openAccount } from './account.ts'
import { addressHolder, createAccounts, isAddress } from './accounts.ts'
import { networkOf } from './caller-key.ts'
import { QuotaUsed } from './errors.ts'
import { foldAddresses, OTHERS } from './fold.ts'
import { createCalendar, type Periods, secondsLeft } from './period.ts'
import type { QuotaLimit } from './quota-limits.ts'
import { pruneQuota, type Totals } from './tables.ts'

const AT_ONCE = 50 // accounts synced at a time

export interface QuotaParts {
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
  readonly refreshSeconds: number
  readonly limitsOf: (caller: RequestContext['caller']) => readonly QuotaLimit[]
  /** Number of addresses without a token that are counted separately. */
  readonly mostAddresses: number
}

export interface Quota {
  /**
   * Counts the request, or returns the refusal and counts nothing. Returns a promise when the database must be read
   * first.
   */
  take(request: RequestContext): ServerError | undefined | Promise<ServerError | undefined>
  countBytes(usage: Usage): void
  countWrites(committed: Committed): void
  start(): Promise<void>
  stop(): Promise<void>
}

/** The holder of a quota: a client with all its users, or an address without a token. */
const holderOf = ({ caller: { client }, address }: RequestContext): string =>
  client === undefined ? addressHolder(networkOf(address)) : `client ${client}`

/** Only requests that may write are refused for a quota of writes. */
const isConcerned = ({ requestClass }: RequestContext, limit: QuotaLimit): boolean =>
  limit.of !== 'writes' || requestClass === 'write' || requestClass === 'bundle'

export const createQuota = ({ database, clock, log, refreshSeconds, limitsOf, mostAddresses }: QuotaParts): Quota => {
  // A count takes up to this long to reach the database, and as long again to be read by other servers.
  const syncMs = (refreshSeconds * 1000) / 2
  const periodsAt = createCalendar()
  const ofAddresses = limitsOf(ANONYMOUS)
  const accounts = createAccounts(mostAddresses, (account) =>
    ofAddresses.reduce((sum, limit) => sum + account.used(limit) / limit.most, 0),
  )
  /** Accounts of past days with counts that are not in the database yet. */
  const past = new Set<Account>()
  /** The account to which an admitted request is charged. */
  const charged = new WeakMap<RequestContext, Account>()
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

  const refusalOf = (
    request: RequestContext,
    account: Account,
    limits: readonly QuotaLimit[],
  ): ServerError | undefined => {
    const passed = limits.filter((limit) => isConcerned(request, limit) && account.used(limit) >= limit.most)
    // A month never ends before its day, so its limit gives the longer wait.
    const limit = passed.find((one) => one.in === 'month') ?? passed[0]
    if (limit === undefined) return undefined
    const seconds = secondsLeft(limit.in, clock.now())
    return QuotaUsed(counted(limit.most, limit.of.slice(0, -1)), limit.in, seconds).with({
      headers: { 'retry-after': String(seconds) },
    })
  }
  /**
   * Work of the server on behalf of a client is charged to the client, though it was not admitted as a request; and what a
   * request writes that another server admitted.
   */
  const servedFor = (request: RequestContext): Account | undefined => {
    const { origin, caller, relayed } = request
    const isServed = origin === 'server' && caller.kind !== 'internal' && caller.client !== undefined
    const isCounted = isServed || relayed === 'received'
    return isCounted && limitsOf(caller).length > 0 ? accountOf(holderOf(request)) : undefined
  }
  /** Adds to the account of an admitted request, also when its day is over or its account was closed meanwhile. */
  const charge = (request: RequestContext, what: keyof Totals, count: number): void => {
    const own = charged.get(request) ?? servedFor(request)
    if (own === undefined) return
    const account = retired.has(own) ? accountOf(OTHERS) : own
    account.since[what] += count
    if (accounts.get(account.holder) !== account) past.add(account)
  }
  const settle = (
    request: RequestContext,
    account: Account,
    limits: readonly QuotaLimit[],
  ): ServerError | undefined => {
    const refusal = refusalOf(request, account, limits)
    if (refusal !== undefined) return refusal
    charged.set(request, account)
    charge(request, 'requests', 1)
    return undefined
  }
  const takeStale = async (
    request: RequestContext,
    holder: string,
    limits: readonly QuotaLimit[],
  ): Promise<ServerError | undefined> => {
    for (;;) {
      const account = accountOf(holder)
      await account.sync()
      // Tries again if midnight has passed meanwhile. It does not matter if the account was closed.
      if (account.periods === periodsAt(clock.now())) return settle(request, account, limits)
    }
  }
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
  let repeating: Repeating | undefined
  return {
    take(request) {
      if (request.relayed === 'received') return undefined // counted by the server that sent it
      const limits = limitsOf(request.caller)
      if (limits.length === 0) return undefined
      const holder = holderOf(request)
      const account = accountOf(holder)
      return isStale(account) ? takeStale(request, holder, limits) : settle(request, account, limits)
    },
    countBytes({ request, relayed, bytesIn, bytesOut }) {
      if (relayed !== 'received') charge(request, 'bytes', bytesIn + bytesOut)
    },
    countWrites: ({ request, changes }) => charge(request, 'writes', changes.length),
    async start() {
      await database.transact(async (transaction) => {
        // Deletes periods that ended at least 40 days ago: a server whose clock is late still uses the last month.
        await transaction.run(pruneQuota, [new Date(clock.now() - 40 * 86_400_000).toISOString().slice(0, 7)])
      })
      repeating = every(clock, syncMs, syncAll, (error) =>
        log.warn({ err: error }, 'quotas could not be brought to the database; they are counted on and tried again'),
      )
    },
    async stop() {
      await repeating?.stop()
      await syncAll()
    },
  }
}
