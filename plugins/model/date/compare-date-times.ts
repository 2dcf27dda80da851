/** The order of dates and times of any precision. http://hl7.org/fhirpath/N1/#datetime-comparison */
import { COMPARED, PartialDate, readPartialDate } from './partial-date.ts'

/** Year, month, day, hour, minute, second with fraction, as many as are given; a time of day begins with the hour. */
type Moment = readonly number[]

const date = new PartialDate()

export const isComparable = (text: string): boolean => readPartialDate(text, COMPARED, date)

const momentOf = (text: string): Moment | undefined => {
  if (!readPartialDate(text, COMPARED, date)) return undefined
  const { dateParts, timeParts, year, month, day, hour, minute } = date
  if (timeParts === 0) return [year, month, day].slice(0, dateParts)
  const seconds = Number(text.slice(date.secondsFrom, date.secondsTo))
  if (dateParts === 0) return [hour, minute, seconds]
  const utc = new Date(0)
  // A time needs a day: without one nothing is below, equal or above.
  utc.setUTCFullYear(year, month - 1, dateParts === 3 ? day : Number.NaN)
  utc.setUTCHours(hour, minute - date.zone)
  return [
    utc.getUTCFullYear(),
    utc.getUTCMonth() + 1,
    utc.getUTCDate(),
    utc.getUTCHours(),
    utc.getUTCMinutes(),
    seconds,
  ]
}

const DAY_MS = 86_400_000

const dayOf = (year: number, month: number, day: number): number =>
  new Date(0).setUTCFullYear(year, month - 1, day) / DAY_MS

/** Where a time stands to a date, which has no zone: at its edges there is no answer. */
const compareToDate = ([year = 0, month = 1, day = 1]: Moment, date: Moment): number | undefined => {
  const moment = dayOf(year, month, day)
  const [ofYear = 0, ofMonth, ofDay] = date
  const first = dayOf(ofYear, ofMonth ?? 1, ofDay ?? 1)
  const last =
    ofMonth === undefined ? dayOf(ofYear, 12, 31) : ofDay === undefined ? dayOf(ofYear, ofMonth + 1, 0) : first
  return moment < first - 1 ? -1 : moment > last + 1 ? 1 : undefined
}

/** Below, equal or above zero; undefined when the precisions differ before the values do, null when one is no date. */
export const compareDateTimes = (a: string, b: string): number | undefined | null => {
  if (a === b) return 0
  const one = momentOf(a)
  const other = momentOf(b)
  if (one === undefined || other === undefined) return null
  if (one.length === 6 && other.length < 6) return compareToDate(one, other)
  if (other.length === 6 && one.length < 6) {
    const difference = compareToDate(other, one)
    return difference === undefined ? undefined : -difference
  }
  for (let at = 0; at < Math.min(one.length, other.length); at++) {
    const difference = one[at]! - other[at]!
    if (difference !== 0) return difference
  }
  return one.length === other.length ? 0 : undefined
}
