/**
 * The open accounts: of every client with a token, and of a limited number of addresses without one. When there is no
 * room for a new address, the account with the least usage among the next few is closed, so that the heaviest users
 * keep theirs.
 */
import type { Account } from './account.ts'

const LOOKED_AT = 8 // accounts compared to find one to close

export interface Accounts {
  get(holder: string): Account | undefined
  /** Returns the account that was closed for it, whose counts the caller has to add elsewhere. */
  set(holder: string, account: Account): Account | undefined
  delete(holder: string): void
  all(): readonly Account[]
}

const ADDRESS = 'address '

/** The holder of an account for an address without a token. */
export const addressHolder = (network: string): string => `${ADDRESS}${network}`
export const isAddress = (holder: string): boolean => holder.startsWith(ADDRESS)

/** Keeps at most `most` addresses; `weigh` returns which part of its quotas an account has used. */
export const createAccounts = (most: number, weigh: (account: Account) => number): Accounts => {
  const clients = new Map<string, Account>()
  const addresses = new Map<string, Account>()
  const of = (holder: string): Map<string, Account> => (isAddress(holder) ? addresses : clients)

  // An account during its sync is in use, and its weight is not known yet.
  const weightOf = (account: Account): number => (account.isSyncing ? Number.POSITIVE_INFINITY : weigh(account))

  /**
   * Closes the lightest of the first few and moves the others to the end, so that every account is compared in turn.
   */
  const makeRoom = (): Account | undefined => {
    const looked = [...addresses.values().take(LOOKED_AT)]
    const lightest = looked.reduce<Account | undefined>(
      (least, one) => (least === undefined || weightOf(one) < weightOf(least) ? one : least),
      undefined,
    )
    for (const one of looked) {
      addresses.delete(one.holder)
      if (one !== lightest) addresses.set(one.holder, one)
    }
    return lightest
  }
  return {
    get: (holder) => of(holder).get(holder),
    set(holder, account) {
      const isNew = isAddress(holder) && !addresses.has(holder)
      const gone = isNew && addresses.size >= most ? makeRoom() : undefined
      of(holder).set(holder, account)
      return gone
    },
    delete: (holder) => void of(holder).delete(holder),
    all: () => [...clients.values(), ...addresses.values()],
  }
}
