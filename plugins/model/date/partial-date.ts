/**
 * Dates and times of any precision, read without a regular expression: every write passes here. How strictly is the
 * reader's choice: search takes more than validation does. https://hl7.org/fhir/R4/datatypes.html#dateTime
 */

export interface DateRules {
  /**
   * Digits in their places suffice: no part is held to its range, a time of day may stand alone, and a zone behind any
   * precision. For comparing what was validated before.
   */
  readonly isLoose: boolean
  /** A time may end with its minutes. */
  readonly mayLackSeconds: boolean
  /** A time may have no zone. */
  readonly mayLackZone: boolean
  /** Most digits of a fraction of a second. */
  readonly maxDigits: number
  /** The farthest zone, in minutes from UTC. */
  readonly maxZone: number
}

/** R4's formats, made exact: a day must exist in its month, 24:00 is refused. A leap second is accepted. */
export const VALID: DateRules = {
  ...{
    isLoose: false,
    mayLackSeconds: false,
    mayLackZone: false,
    maxDigits: Number.POSITIVE_INFINITY,
    maxZone: 14 * 60,
  },
}
/** What a parameter such as _since or _at may say. */
export const GIVEN: DateRules = { ...VALID, mayLackSeconds: true, maxDigits: 9, maxZone: 14 * 60 + 59 }
/** What is searched for, and put into the index. */
export const SEARCHED: DateRules = { ...GIVEN, mayLackZone: true }
/** What FHIRPath compares. */
export const COMPARED: DateRules = { ...VALID, isLoose: true, mayLackZone: true }

/** What was read last. Reused by its owner, so that reading leaves nothing to collect; parts not given are as before. */
export class PartialDate {
  /** 1: a year, 2: a month, 3: a day; 0: a time of day. */
  dateParts = 0
  /** 2: to the minute, 3: to the second; 0: no time. */
  timeParts = 0
  year = 0
  month = 0
  day = 0
  hour = 0
  minute = 0
  second = 0
  /** The first nine digits of the fraction, as billionths. */
  nanos = 0
  /** Digits of the fraction. */
  digits = 0
  /** Where the seconds and their fraction stand in the text. */
  secondsFrom = 0
  secondsTo = 0
  /** Minutes east of UTC; 0 when there is none. */
  zone = 0
}

const [DASH, PLUS, DOT, COLON, T, Z] = [45, 43, 46, 58, 84, 90] as const

/** Value of the two digits at `at`, or -1. */
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

/** End of the date that the text begins with, or -1. */
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
  // `-05:00` is a zone.
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

/** End of the fraction whose dot stands at `at`, or -1. */
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

/** End of the time `hh:mm(:ss(.fraction)?)?` that begins at `at`, or -1. */
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

/** Whether `Z` or `+hh:mm` stands at `at` and ends the text. */
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

/** Reads a date or time of any precision; false when the text is none. */
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
