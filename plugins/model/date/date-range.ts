/** Converts dates and times in request parameters such as `_since` to ranges of microseconds. */
import { readBounds } from './date-bounds.ts'
import { GIVEN } from './partial-date.ts'

/** Half-open range, in microseconds since the epoch. */
export interface DateRange {
  readonly from: number
  readonly to: number
}

/**
 * The range that a date or time of any precision covers; undefined if the text is not one. A date without a time is read as
 * UTC; a time must have a zone.
 */
export const readDateRange = (text: string): DateRange | undefined => {
  const bounds = { lo: 0, hi: 0 }
  return readBounds(text, GIVEN, 1000, bounds) ? { from: bounds.lo, to: bounds.hi } : undefined
}
