/**
 * The accounts that are open: of every client with a token, and of a bounded number of addresses without one. When an
 * address comes for which there is no room, the lightest of the next few has to go, so that the heaviest stay.
 */
import type { Account } from './account.ts'

const LOOKED_AT = 8 // accounts that are looked at to find room for one

export interface Accounts {
  get(holder: string): Account | undefined
  /** Returns the account that had to go, whose counts are the caller's to keep. */
  set(holder: string, account: Account): Account | undefined
  delete(holder: string): void
  all(): readonly Account[]
}

const ADDRESS = 'address '

/** The holder of an account without a token. */
export const addressHolder = (network: string): string => `${ADDRESS}${network}`
export const isAddress = (holder: string): boolean => holder.startsWith(ADDRESS)

/** `most` addresses at most; `weigh` tells how much of its quotas an account has used. */
export const createAccounts = (most: number, weigh: (account: Account) => number): Accounts => {
  const clients = new Map<string, Account>()
  const addresses = new Map<string, Account>()
  const of = (holder: string): Map<string, Account> => (isAddress(holder) ? addresses : clients)

  // One that asks the database is in use, and has not learned yet how heavy it is.
  const weightOf = (account: Account): number => (account.isSyncing ? Number.POSITIVE_INFINITY : weigh(account))

  /** Looks at the first few and puts those that stay at the end, so that all have their turn. */
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
