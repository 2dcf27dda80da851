/**
 * Caches how many rows the clauses of searches have. An old count can make a plan slower but never wrong, so a count
 * stays valid until about as many resources were added.
 */
import { LRUCache } from 'lru-cache'
import type { Fragment } from '../sql/fragment.ts'

const MAX_KEPT = 20_000
const MIN_GROWTH = 64 // a small count stays valid until so many resources were added

interface Counted {
  readonly rows: number
  /** The newest resource key at the time of the count. */
  readonly at: number
}

export interface RowEstimates {
  /** The number of rows, or the limit of the count. Undefined when there is no valid count. */
  get(clause: Fragment): number | undefined
  set(clause: Fragment, rows: number): void
}

/** `newest` returns the newest resource key. */
export const createRowEstimates = (newest: () => number): RowEstimates => {
  // Made with the first count: it reserves its places at once, which takes a twentieth of a start.
  let kept: LRUCache<string, Counted> | undefined
  const keyOf = ({ text, params }: Fragment): string => `${text}\u0000${params.join('\u0001')}`
  return {
    get(clause) {
      const counted = kept?.get(keyOf(clause))
      if (counted === undefined) return undefined
      return newest() - counted.at <= Math.max(MIN_GROWTH, counted.rows) ? counted.rows : undefined
    },
    set(clause, rows) {
      kept ??= new LRUCache({ max: MAX_KEPT })
      kept.set(keyOf(clause), { rows, at: newest() })
    },
  }
}
