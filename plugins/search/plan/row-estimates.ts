/**
 * How many rows the clauses of searches have, as last counted. A plan made with a number that is a little old is as right
 * as any other, only perhaps slower: so a number is good until about as many resources were added.
 */
import { LRUCache } from 'lru-cache'
import type { Fragment } from '../sql/fragment.ts'

const MAX_KEPT = 20_000
const MIN_GROWTH = 64 // resources added before a small number is counted again

interface Counted {
  readonly rows: number
  /** The newest resource when it was counted. */
  readonly at: number
}

export interface RowEstimates {
  /** Rows counted, up to the bound they were counted to; undefined when that is too long ago. */
  get(clause: Fragment): number | undefined
  set(clause: Fragment, rows: number): void
}

/** `newest`: number of the newest resource. */
export const createRowEstimates = (newest: () => number): RowEstimates => {
  const kept = new LRUCache<string, Counted>({ max: MAX_KEPT })
  const keyOf = ({ text, params }: Fragment): string => `${text}\u0000${params.join('\u0001')}`
  return {
    get(clause) {
      const counted = kept.get(keyOf(clause))
      if (counted === undefined) return undefined
      return newest() - counted.at <= Math.max(MIN_GROWTH, counted.rows) ? counted.rows : undefined
    },
    set: (clause, rows) => void kept.set(keyOf(clause), { rows, at: newest() }),
  }
}
