/**
 * Reads dates and times of any precision. It uses no regular expression, because every write runs it several times. The
 * caller chooses how strict it is: search accepts more than validation. https://hl7.org/fhir/R4/datatypes.html#dateTime
 */

export interface DateRules {
  /**
   * Checks only that there are digits where digits must be: a month may be 13, a time may have no date, and a zone may
   * follow any precision. For comparing values that were validated before.
   */
  readonly isLoose: boolean
  /** A time may end with its minutes. */
  readonly mayLackSeconds: boolean
  /** A time may have no zone. */
  readonly mayLackZone: boolean
  /** Maximum number of digits after the decimal point of the seconds. */
  readonly maxDigits: number
  /** Maximum offset of a zone from UTC, in minutes. */
  readonly maxZone: number
}

/** The formats of R4; besides, the day must exist in its month. 24:00 is refused, a leap second is accepted. */
export const VALID: DateRules = {
  ...{
    isLoose: false,
    mayLackSeconds: false,
    mayLackZone: false,
    maxDigits: Number.POSITIVE_INFINITY,
    maxZone: 14 * 60,
  },
}
/** For parameters such as _since and _at. */
export const GIVEN: DateRules = { ...VALID, mayLackSeconds: true, maxDigits: 9, maxZone: 14 * 60 + 59 }
/** For the values of search parameters, in requests and in the index: whatever is valid in a resource is found. */
export const SEARCHED: DateRules = { ...GIVEN, maxDigits: VALID.maxDigits, mayLackZone: true }
/** For comparisons in FHIRPath. */
export const COMPARED: DateRules = { ...VALID, isLoose: true, mayLackZone: true }

/**
 * The result of `readPartialDate`. Callers reuse one object, so that reading allocates nothing. Parts that the text does not
 * give keep their old value: read only what `dateParts` and `timeParts` say is there.
 */
export class PartialDate {
  /** Number of parts of the date: 1 year, 2 year and month, 3 a full date; 0 for a time of day. */
  dateParts = 0
  /** Number of parts of the time: 2 hour and minute, 3 with seconds; 0 for none. */
  timeParts = 0
  year = 0
  month = 0
  day = 0
  hour = 0
  minute = 0
  second = 0
  /** The fraction of the second in nanoseconds; digits after the ninth are ignored. */
  nanos = 0
  /** Number of digits of the fraction. */
  digits = 0
  /** Half-open range of the text with the seconds and their fraction. */
  secondsFrom = 0
  secondsTo = 0
  /** Offset of the zone from UTC in minutes, positive to the east; 0 if there is no zone. */
  zone = 0
}

const [DASH, PLUS, DOT, COLON, T, Z] = [45, 43, 46, 58, 84, 90] as const

/** Value of the two digits at `at`; -1 if there are none. */
const two = (text: string, at: number): number => {
  const tens = text.charCodeAt(at) - 48
  const ones = text.charCodeAt(at + 1) - 48
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1
}

const DAYS = [0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

const isDay = (year: number, month: number, day: number): boolean =>
  day >= 1 &&
  day <= (DAYS[month] as number) &&
  (month !== 2 || day !== 29 || (year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)))

/** Reads the date at the beginning of the text. Returns the index after it, or -1 if it is not a date. */
const readDate = (text: string, { isLoose }: DateRules, into: PartialDate): number => {
  into.dateParts = 0
  const century = two(text, 0)
  const rest = two(text, 2)
  if (century < 0 || rest < 0) return isLoose ? 0 : -1
  const year = century * 100 + rest
  if (year === 0 && !isLoose) return -1 // R4 has no year 0000
  into.year = year
  into.dateParts = 1
  const month = text.charCodeAt(4) === DASH ? two(text, 5) : -1
  // A colon after the two digits means that they are the hours of a zone, as in `2024-05:00`.
  if (month < 0 || text.charCodeAt(7) === COLON) return 4
  if (!isLoose && (month < 1 || month > 12)) return -1
  into.month = month
  into.dateParts = 2
  const day = text.charCodeAt(7) === DASH ? two(text, 8) : -1
  if (day < 0 || text.charCodeAt(10) === COLON) return 7
  if (!isLoose && !isDay(year, month, day)) return -1
  into.day = day
  into.dateParts = 3
  return 10
}

/** Reads the fraction whose dot is at `at`. Returns the index after it, or -1 if it has no digit or too many. */
const readFraction = (text: string, at: number, maxDigits: number, into: PartialDate): number => {
  let end = at + 1
  let nanos = 0
  let scale = 100_000_000
  for (let digit = text.charCodeAt(end) - 48; digit >= 0 && digit <= 9; digit = text.charCodeAt(end) - 48) {
    nanos += digit * scale
    scale = (scale / 10) | 0
    end++
  }
  into.nanos = nanos
  into.digits = end - at - 1
  return into.digits === 0 || into.digits > maxDigits ? -1 : end
}

/** Reads a time `hh:mm(:ss(.fraction)?)?` at `at`. Returns the index after it, or -1 if it is not a time. */
export const readTime = (text: string, at: number, rules: DateRules, into: PartialDate): number => {
  const hour = two(text, at)
  const minute = two(text, at + 3)
  if (hour < 0 || minute < 0 || text.charCodeAt(at + 2) !== COLON) return -1
  if (!rules.isLoose && (hour > 23 || minute > 59)) return -1
  into.hour = hour
  into.minute = minute
  into.second = into.nanos = into.digits = 0
  into.timeParts = 2
  if (text.charCodeAt(at + 5) !== COLON) return rules.mayLackSeconds ? at + 5 : -1
  const second = two(text, at + 6)
  if (second < 0 || (!rules.isLoose && second > 60)) return -1
  into.second = second
  into.timeParts = 3
  const end = text.charCodeAt(at + 8) === DOT ? readFraction(text, at + 8, rules.maxDigits, into) : at + 8
  into.secondsFrom = at + 6
  into.secondsTo = end
  return end
}

/** Reads a zone, `Z` or `+hh:mm`, at `at`. Returns false if there is none or if the text goes on after it. */
const readZone = (text: string, at: number, { isLoose, maxZone }: DateRules, into: PartialDate): boolean => {
  const sign = text.charCodeAt(at)
  if (sign === Z) return text.length === at + 1
  if ((sign !== PLUS && sign !== DASH) || text.length !== at + 6 || text.charCodeAt(at + 3) !== COLON) return false
  const hours = two(text, at + 1)
  const minutes = two(text, at + 4)
  const zone = hours * 60 + minutes
  if (hours < 0 || minutes < 0 || (!isLoose && (minutes > 59 || zone > maxZone))) return false
  into.zone = sign === DASH ? -zone : zone
  return true
}

/** Reads a date or time of any precision into `into`. Returns false if the text breaks the rules. */
export const readPartialDate = (text: string, rules: DateRules, into: PartialDate): boolean => {
  let at = readDate(text, rules, into)
  if (at < 0) return false
  const { length } = text
  into.timeParts = 0
  into.zone = 0
  if (at === length) return true
  if (rules.isLoose) {
    const isMarked = into.dateParts === 3 && text.charCodeAt(at) === T
    const end = readTime(text, isMarked ? at + 1 : at, rules, into)
    if (end < 0) into.timeParts = 0
    else at = end
    return at === length || readZone(text, at, rules, into)
  }
  if (into.dateParts < 3 || text.charCodeAt(at) !== T) return false
  at = readTime(text, at + 1, rules, into)
  if (at < 0) return false
  return at === length ? rules.mayLackZone : readZone(text, at, rules, into)
}
