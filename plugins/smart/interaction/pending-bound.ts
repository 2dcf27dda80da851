/**
 * Bounds the requests that wait for a person to log in. Anybody can begin one, so without a bound an address could fill
 * the disk. Nobody is refused for it: the oldest requests make room, of the same client first.
 */
import type { Transaction } from '../../database/service.ts'
import { boundRequests } from '../login-tables.ts'

const MAX_OF_CLIENT = 2_000
const MAX_REQUESTS = 8_000
const EACH = 256 // requests between two checks of this server, by which the bound may be exceeded

export interface PendingBound {
  /** Counts a request that is about to be stored. True when `keep` is to be called in its transaction, after that. */
  isDue(): boolean
  keep(transaction: Transaction): Promise<void>
}

export const createPendingBound = (): PendingBound => {
  // The first one after the start is checked too: what was stored before it may not have been.
  let count = -1
  return {
    isDue() {
      count += 1
      return count % EACH === 0
    },
    keep: async (transaction) => transaction.run(boundRequests, [MAX_OF_CLIENT, MAX_REQUESTS]),
  }
}
