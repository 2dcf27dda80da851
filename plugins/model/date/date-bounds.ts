/** FHIR dates → the ranges they cover. Without a zone it is UTC. */
import { type DateRules, PartialDate, readPartialDate, SEARCHED } from './partial-date.ts'

/** Ends of time: no lower or no upper bound. */
export const MIN_TIME = -1e15
export const MAX_TIME = 1e15

/** Half-open, since the epoch. Reused by the caller. */
export interface DateBounds {
  lo: number
  hi: number
}

const DAY_MS = 86_400_000

/** `month` counts from 0, and may be 12. */
const utc = (year: number, month: number, day: number): number => {
  if (year >= 100) return Date.UTC(year, month, day)
  const date = new Date(0)
  return date.setUTCFullYear(year, month, day)
}

/** Millionths of a second that so many digits of a fraction leave open. */
const WIDTHS = [1e6, 1e5, 1e4, 1e3, 100, 10] as const

const date = new PartialDate()

/** Writes the range in units of which a millisecond has `perMs`; false when the text is no date. */
export const readBounds = (text: string, rules: DateRules, perMs: 1 | 1000, into: DateBounds): boolean => {
  if (!readPartialDate(text, rules, date)) return false
  const { dateParts, timeParts, year, month, day } = date
  if (timeParts > 0) {
    const start = utc(year, month - 1, day) + ((date.hour * 60 + date.minute - date.zone) * 60 + date.second) * 1000
    const { digits } = date
    const lo = digits === 0 ? start * perMs : start * perMs + Math.floor((date.nanos * perMs) / 1e6)
    const width =
      digits > 0 ? Math.max(1, ((WIDTHS[digits] ?? 1) * perMs) / 1000) : timeParts === 2 ? 60_000 * perMs : 1000 * perMs
    into.lo = lo
    into.hi = lo + width
    return true
  }
  const start = utc(year, dateParts > 1 ? month - 1 : 0, dateParts > 2 ? day : 1)
  const end = dateParts === 3 ? start + DAY_MS : dateParts === 2 ? utc(year, month, 1) : utc(year + 1, 0, 1)
  into.lo = start * perMs
  into.hi = end * perMs
  return true
}

/** Writes the range in milliseconds, of what is searched for or indexed; false when the text is no date. */
export const readDateBounds = (text: string, into: DateBounds): boolean => readBounds(text, SEARCHED, 1, into)
