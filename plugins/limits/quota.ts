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
import type { Database, Transaction } from '../database/service.ts'
import type { Account } from './account.ts'
import { addressHolder } from './accounts.ts'
import { networkOf } from './caller-key.ts'
import { QuotaUsed } from './errors.ts'
import { secondsLeft } from './period.ts'
import { createQuotaAccounts } from './quota-accounts.ts'
import type { QuotaLimit } from './quota-limits.ts'
import { pruneQuota, type Totals } from './tables.ts'

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
  const ofAddresses = limitsOf(ANONYMOUS)
  const accounts = createQuotaAccounts({ database, clock, syncMs, ofAddresses, mostAddresses })
  /** The account to which an admitted request is charged. */
  const charged = new WeakMap<RequestContext, Account>()

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
    return isCounted && limitsOf(caller).length > 0 ? accounts.of(holderOf(request)) : undefined
  }
  /** Adds to the account of an admitted request, also when its day is over or its account was closed meanwhile. */
  const charge = (request: RequestContext, what: keyof Totals, count: number): void => {
    const account = charged.get(request) ?? servedFor(request)
    if (account !== undefined) accounts.add(account, what, count)
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
      const account = accounts.of(holder)
      await account.sync()
      // Tries again if midnight has passed meanwhile. It does not matter if the account was closed.
      if (accounts.isCurrent(account)) return settle(request, account, limits)
    }
  }
  let repeating: Repeating | undefined
  return {
    take(request) {
      if (request.relayed === 'received') return undefined // counted by the server that sent it
      const limits = limitsOf(request.caller)
      if (limits.length === 0) return undefined
      const holder = holderOf(request)
      const account = accounts.of(holder)
      return accounts.isStale(account) ? takeStale(request, holder, limits) : settle(request, account, limits)
    },
    countBytes({ request, relayed, bytesIn, bytesOut }) {
      if (relayed !== 'received') charge(request, 'bytes', bytesIn + bytesOut)
    },
    countWrites: ({ request, changes }) => charge(request, 'writes', changes.length),
    async start() {
      const prune = async (transaction: Transaction): Promise<void> => {
        // Deletes periods that ended at least 40 days ago: a server whose clock is late still uses the last month.
        await transaction.run(pruneQuota, [new Date(clock.now() - 40 * 86_400_000).toISOString().slice(0, 7)])
      }
      // The server that writes does it for all.
      if (!database.isReader) await database.transact(prune)
      repeating = every(clock, syncMs, accounts.syncAll, (error) =>
        log.warn({ err: error }, 'quotas could not be brought to the database; they are counted on and tried again'),
      )
    },
    async stop() {
      await repeating?.stop()
      await accounts.syncAll()
    },
  }
}
