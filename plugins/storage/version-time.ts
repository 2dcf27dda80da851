/**
 * The moment of a version in microseconds since the epoch: unique and growing, so that it is also the order of all
 * versions. Its milliseconds are meta.lastUpdated.
 */
import type { Clock } from '../../kernel/index.ts'

export interface VersionClock {
  /** Behind all that were given, and behind `after`, the stamp of the version before. */
  next(after?: number): number
}

/** Servers that write at the same time give stamps that differ in the remainder by this. */
const WRITERS = 16

/**
 * `last` is the newest stamp in the database; a clock that went back does not go behind it. `writer`: the number of this
 * server where several write, so that no two give the same stamp.
 */
export const createVersionClock = (clock: Clock, last: number, writer?: number): VersionClock => {
  let newest = last
  const place = writer === undefined ? undefined : writer % WRITERS
  return {
    next(after = 0) {
      const least = Math.max(clock.now() * 1000, newest + 1, after + 1)
      newest = place === undefined ? least : least + ((place - (least % WRITERS) + WRITERS) % WRITERS)
      return newest
    },
  }
}

export const toMillis = (stamp: number): number => Math.floor(stamp / 1000)

// Date's own formatting takes a microsecond, several times for each write.

/** `00` to `99`. */
const TWO: readonly string[] = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, '0'))
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const DAYS = ['Thu', 'Fri', 'Sat', 'Sun', 'Mon', 'Tue', 'Wed'] // from the first day of 1970
const DAY_SECONDS = 86_400
/** From 1970 up to the year 10000, whose dates are written otherwise. */
const LAST_SECOND = 253_402_300_799

const two = (number: number): string => TWO[number] as string
const timeOf = (second: number): string =>
  `${two(Math.floor(second / 3600))}:${two(Math.floor(second / 60) % 60)}:${two(second % 60)}`

/** Year, month and day of a day since 1970, by eras of 400 years that begin in March. https://howardhinnant.github.io/date_algorithms.html#civil_from_days */
const civil = <T>(day: number, write: (year: string, month: number, day: string) => T): T => {
  const shifted = day + 719_468
  const era = Math.floor(shifted / 146_097)
  const ofEra = shifted - era * 146_097
  const year = Math.floor(
    (ofEra - Math.floor(ofEra / 1460) + Math.floor(ofEra / 36_524) - Math.floor(ofEra / 146_096)) / 365,
  )
  const ofYear = ofEra - (365 * year + Math.floor(year / 4) - Math.floor(year / 100))
  const fromMarch = Math.floor((5 * ofYear + 2) / 153)
  const month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
  const full = year + era * 400 + (month <= 2 ? 1 : 0)
  return write(
    two(Math.floor(full / 100)) + two(full % 100),
    month,
    two(ofYear - Math.floor((153 * fromMarch + 2) / 5) + 1),
  )
}

/** `2026-11-22T01:30:00.000Z` */
export const toInstant = (stamp: number): string => {
  const millis = toMillis(stamp)
  const second = Math.floor(millis / 1000)
  if (!(second >= 0 && second <= LAST_SECOND)) return new Date(millis).toISOString()
  const day = Math.floor(second / DAY_SECONDS)
  const fraction = millis - second * 1000
  const date = civil(day, (year, month, dayOfMonth) => `${year}-${two(month)}-${dayOfMonth}`)
  return `${date}T${timeOf(second - day * DAY_SECONDS)}.${two(Math.floor(fraction / 10))}${fraction % 10}Z`
}

/** `Sun, 22 Nov 2026 01:30:00 GMT`. RFC 9110, section 5.6.7. */
export const toHttpDate = (stamp: number): string => {
  const second = Math.floor(toMillis(stamp) / 1000)
  if (!(second >= 0 && second <= LAST_SECOND)) return new Date(toMillis(stamp)).toUTCString()
  const day = Math.floor(second / DAY_SECONDS)
  const date = civil(day, (year, month, dayOfMonth) => `${dayOfMonth} ${MONTHS[month - 1]} ${year}`)
  return `${DAYS[day % 7]}, ${date} ${timeOf(second - day * DAY_SECONDS)} GMT`
}
