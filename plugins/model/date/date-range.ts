/** Dates and times that requests give → the range of microseconds they mean. */
import { readBounds } from './date-bounds.ts'
import { GIVEN } from './partial-date.ts'

/** Half-open range of stamps (microseconds since the epoch). */
export interface DateRange {
  readonly from: number
  readonly to: number
}

/** A date or time of any precision as the range it covers; undefined when it is not one. Without a time it is UTC. */
export const readDateRange = (text: string): DateRange | undefined => {
  const bounds = { lo: 0, hi: 0 }
  return readBounds(text, GIVEN, 1000, bounds) ? { from: bounds.lo, to: bounds.hi } : undefined
}
