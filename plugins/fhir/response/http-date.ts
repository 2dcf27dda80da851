/** The three forms of an HTTP date. RFC 9110, section 5.6.7 */

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')
const MONTH = `(?<month>${MONTHS.join('|')})`
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const LONG_DAY = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day'
const TIME = '(?<hour>[01]\\d|2[0-3]):(?<minute>[0-5]\\d):(?<second>[0-5]\\d|60)'
const FORMS = [
  new RegExp(`^${DAY}, (?<day>\\d\\d) ${MONTH} (?<year>\\d{4}) ${TIME} GMT$`),
  new RegExp(`^${LONG_DAY}, (?<day>\\d\\d)-${MONTH}-(?<year>\\d\\d) ${TIME} GMT$`), // RFC 850
  new RegExp(`^${DAY} ${MONTH} (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})$`), // asctime
]
/** Two-digit years are read as POSIX does: 69 to 99 are 1969 to 1999, the others 2000 to 2068. */
const LAST_CENTURY = 69

const fullYear = (digits: string): number => {
  const year = Number(digits)
  return digits.length === 4 ? year : year + (year < LAST_CENTURY ? 2000 : 1900)
}

/** Milliseconds since the epoch. Undefined for text that is not an HTTP date; the caller then ignores the header. */
export const readHttpDate = (text: string): number | undefined => {
  for (const form of FORMS) {
    const found = form.exec(text.trim())?.groups
    if (found === undefined) continue
    const { year = '', month = '', day, hour, minute, second } = found
    const midnight = new Date(Date.UTC(fullYear(year), MONTHS.indexOf(month), Number(day)))
    if (midnight.getUTCDate() !== Number(day)) return undefined // a day that the month does not have
    return midnight.setUTCHours(Number(hour), Number(minute), Number(second))
  }
  return undefined
}
