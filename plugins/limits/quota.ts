/**
 * Totals that a client may not pass in a UTC day or month. They are counted here and, within `refresh_seconds`, together
 * with what other servers counted. Spec: [quota].
 */
import {
  type Clock,
  type Committed,
  every,
  type Logger,
  type Repeating,
  type RequestContext,
  type ServerError,
  type Usage,
} from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import { type Account, openAccount } from './account.ts'
import { networkOf } from './caller-key.ts'
import { QuotaUsed } from './errors.ts'
import { createCalendar, secondsLeft } from './period.ts'
import type { QuotaLimit } from './quota-limits.ts'
import { pruneQuota } from './tables.ts'

const AT_ONCE = 50 // accounts that are brought to the database together

export interface QuotaParts {
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
  readonly refreshSeconds: number
  readonly limitsOf: (caller: RequestContext['caller']) => readonly QuotaLimit[]
}

export interface Quota {
  /** Counts the request; or counts nothing and gives the refusal. A promise when the database must be asked first. */
  take(request: RequestContext): ServerError | undefined | Promise<ServerError | undefined>
  countBytes(usage: Usage): void
  countWrites(committed: Committed): void
  start(): Promise<void>
  stop(): Promise<void>
}

/** A client with all its users; without a token, an address. */
const holderOf = ({ caller: { client }, address }: RequestContext): string =>
  client === undefined ? `address ${networkOf(address)}` : `client ${client}`

/** A write can be refused before it is made; what is no write needs no quota of writes. */
const isConcerned = ({ requestClass }: RequestContext, limit: QuotaLimit): boolean =>
  limit.of !== 'writes' || requestClass === 'write' || requestClass === 'bundle'

export const createQuota = ({ database, clock, log, refreshSeconds, limitsOf }: QuotaParts): Quota => {
  // What is counted here takes up to this long to be in the database, and as long again to be read by others.
  const syncMs = (refreshSeconds * 1000) / 2
  const periodsAt = createCalendar()
  const accounts = new Map<string, Account>()
  /** Of days that are over, with something that is still to be kept. */
  const past = new Set<Account>()
  /** The account a request is charged to, once it was let in. */
  const charged = new WeakMap<RequestContext, Account>()

  const accountOf = (holder: string): Account => {
    const periods = periodsAt(clock.now())
    const known = accounts.get(holder)
    if (known?.periods === periods) return known
    if (known?.isDirty) past.add(known)
    const account = openAccount(database, clock.monotonic, holder, periods, known)
    accounts.set(holder, account)
    return account
  }
  const isStale = ({ syncedAt }: Account): boolean => syncedAt === undefined || clock.monotonic() - syncedAt >= syncMs

  const refusalOf = (
    request: RequestContext,
    account: Account,
    limits: readonly QuotaLimit[],
  ): ServerError | undefined => {
    const passed = limits.filter((limit) => isConcerned(request, limit) && account.used(limit) >= limit.most)
    // A month is over no sooner than its day.
    const limit = passed.find((one) => one.in === 'month') ?? passed[0]
    if (limit === undefined) return undefined
    const seconds = secondsLeft(limit.in, clock.now())
    return QuotaUsed(limit.most, limit.of, limit.in, seconds).with({ headers: { 'retry-after': String(seconds) } })
  }
  const settle = (
    request: RequestContext,
    account: Account,
    limits: readonly QuotaLimit[],
  ): ServerError | undefined => {
    const refusal = refusalOf(request, account, limits)
    if (refusal !== undefined) return refusal
    account.since.requests += 1
    charged.set(request, account)
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
      // Midnight may have passed meanwhile.
      if (accountOf(holder) === account) return settle(request, account, limits)
    }
  }
  /** What is charged to a day that is over must be kept too. */
  const note = (account: Account): void => {
    if (account.periods !== periodsAt(clock.now())) past.add(account)
  }

  const syncAll = async (): Promise<void> => {
    const due = [...past, ...accounts.values()].filter((account) => account.isDirty)
    for (let at = 0; at < due.length; at += AT_ONCE)
      await Promise.all(due.slice(at, at + AT_ONCE).map((account) => account.sync()))
    for (const account of past) if (!account.isDirty) past.delete(account)
    // Who comes back is asked about again.
    for (const [holder, account] of accounts)
      if (!account.isDirty && !account.isSyncing && isStale(account)) accounts.delete(holder)
  }
  let repeating: Repeating | undefined
  return {
    take(request) {
      const limits = limitsOf(request.caller)
      if (limits.length === 0) return undefined
      const holder = holderOf(request)
      const account = accountOf(holder)
      return isStale(account) ? takeStale(request, holder, limits) : settle(request, account, limits)
    },
    countBytes({ request, bytesIn, bytesOut }) {
      const account = charged.get(request)
      if (account === undefined) return
      account.since.bytes += bytesIn + bytesOut
      note(account)
    },
    countWrites({ request, changes }) {
      const account = charged.get(request)
      if (account === undefined) return
      account.since.writes += changes.length
      note(account)
    },
    async start() {
      await database.transact(async (transaction) => {
        // Days and months before this month: a month that ends on a server whose clock is late still counts.
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
