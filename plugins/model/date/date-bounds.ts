/** FHIR dates → ranges of milliseconds, without a regular expression: every write passes here. Without a zone it is UTC. */

/** Ends of time: no lower or no upper bound. */
export const MIN_TIME = -1e15
export const MAX_TIME = 1e15

/** Half-open, in milliseconds since the epoch. Reused by the caller. */
export interface DateBounds {
  lo: number
  hi: number
}

const DAY_MS = 86_400_000

const digit = (text: string, at: number): number => text.charCodeAt(at) - 48

const two = (text: string, at: number): number => {
  const tens = digit(text, at)
  const ones = digit(text, at + 1)
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1
}

const utc = (year: number, month: number, day: number): number => {
  if (year >= 100) return Date.UTC(year, month, day)
  const date = new Date(0)
  return date.setUTCFullYear(year, month, day)
}

const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
const daysOf = (year: number, month: number): number =>
  month === 1 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : (MONTH_DAYS[month] as number)

/** Minutes east of UTC of the zone at `at`, which must be the rest of the text; undefined when it is none. */
const readZone = (text: string, at: number): number | undefined => {
  const sign = text.charAt(at)
  if (sign === 'Z') return text.length === at + 1 ? 0 : undefined
  if ((sign !== '+' && sign !== '-') || text.length !== at + 6 || text.charAt(at + 3) !== ':') return undefined
  const hours = two(text, at + 1)
  const minutes = two(text, at + 4)
  if (hours < 0 || hours > 14 || minutes < 0 || minutes > 59) return undefined
  return (sign === '-' ? -1 : 1) * (hours * 60 + minutes)
}

/** Writes the range a date or time of any precision covers; false when the text is none. */
export const readDateBounds = (text: string, into: DateBounds): boolean => {
  const { length } = text
  if (length < 4 || length > 40) return false
  const century = two(text, 0)
  const rest = two(text, 2)
  if (century < 0 || rest < 0) return false
  const year = century * 100 + rest
  if (year === 0) return false
  if (length === 4) {
    into.lo = utc(year, 0, 1)
    into.hi = utc(year + 1, 0, 1)
    return true
  }
  const month = two(text, 5) - 1
  if (text.charCodeAt(4) !== 45 || month < 0 || month > 11) return false
  if (length === 7) {
    into.lo = utc(year, month, 1)
    into.hi = utc(year, month + 1, 1)
    return true
  }
  const day = two(text, 8)
  if (text.charCodeAt(7) !== 45 || day < 1 || day > daysOf(year, month)) return false
  const start = utc(year, month, day)
  if (length === 10) {
    into.lo = start
    into.hi = start + DAY_MS
    return true
  }
  return readTime(text, start, into)
}

const readTime = (text: string, day: number, into: DateBounds): boolean => {
  const hour = two(text, 11)
  const minute = two(text, 14)
  if (text.charCodeAt(10) !== 84 || text.charCodeAt(13) !== 58 || hour < 0 || hour > 23 || minute < 0 || minute > 59)
    return false
  let width = 60_000
  let at = 16
  let lo = day + hour * 3_600_000 + minute * 60_000
  if (text.charCodeAt(16) === 58) {
    const second = two(text, 17)
    if (second < 0 || second > 60) return false
    lo += second * 1000
    width = 1000
    at = 19
    if (text.charCodeAt(19) === 46) {
      at = 20
      for (let scale = 100; at < text.length; at += 1, scale /= 10) {
        const value = digit(text, at)
        if (value < 0 || value > 9) break
        if (scale >= 1) lo += value * scale
        width = Math.max(1, scale)
      }
      if (at === 20 || at > 29) return false
    }
  }
  if (at < text.length) {
    const zone = readZone(text, at)
    if (zone === undefined) return false
    lo -= zone * 60_000
  }
  into.lo = lo
  into.hi = lo + width
  return true
}
