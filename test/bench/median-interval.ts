/** A median and how sure it is. */
import { median } from './compare.ts'

export interface Interval {
  readonly median: number
  /** The true median lies between the two with a probability of 95 % and more. */
  readonly low: number
  readonly high: number
}

const TAIL = 0.025

/**
 * Half of all values lie below the true median, so the number of them is binomial. Assumes no distribution of the values
 * themselves. With fewer than six the interval is all of them, and its probability is less.
 * https://www.itl.nist.gov/div898/software/dataplot/refman1/auxillar/medicl.htm
 */
export const medianInterval = (values: readonly number[]): Interval => {
  const sorted = values.toSorted((one, other) => one - other)
  const count = sorted.length
  let rank = 0 // of the value that ends the interval, counted from its end of the list
  let chance = 0.5 ** count // that exactly so many values lie below the median
  for (let below = chance; below <= TAIL; below += chance) {
    rank += 1
    chance *= (count - rank + 1) / rank
  }
  const outer = Math.max(0, rank - 1)
  return {
    median: median(sorted),
    low: sorted[outer] ?? Number.NaN,
    high: sorted[count - 1 - outer] ?? Number.NaN,
  }
}
