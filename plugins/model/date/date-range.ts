/** FHIR dates and times → the range of microseconds they mean. https://hl7.org/fhir/R4/datatypes.html#dateTime */

/** Half-open range of stamps (microseconds since the epoch). */
export interface DateRange {
  readonly from: number
  readonly to: number
}

const PATTERN =
  /^(\d{4})(?:-(\d{2})(?:-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}:\d{2}))?)?)?$/

const MICROS = 1000

const offsetMinutes = (zone: string): number | undefined => {
  if (zone === 'Z') return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = Number(zone.slice(4, 6))
  if (hours > 14 || minutes > 59) return undefined
  return (zone[0] === '-' ? -1 : 1) * (hours * 60 + minutes)
}

/** A date or time of any precision as the range it covers; undefined when it is not one. Without a zone it is UTC. */
export const readDateRange = (text: string): DateRange | undefined => {
  const match = PATTERN.exec(text)
  if (match === null) return undefined
  const [, year = '', month, day, hour, minute, second, fraction, zone = 'Z'] = match
  const offset = offsetMinutes(zone)
  const parts = [
    Number(year),
    Number(month ?? 1) - 1,
    Number(day ?? 1),
    Number(hour ?? 0),
    Number(minute ?? 0),
  ] as const
  const seconds = Number(second ?? 0)
  if (offset === undefined || parts[0] === 0 || parts[3] > 23 || parts[4] > 59 || seconds > 60) return undefined
  const at = (y: number, m: number, d: number, h: number, min: number, s: number): number => {
    const date = new Date(0)
    date.setUTCFullYear(y, m, d)
    date.setUTCHours(h, min, s, 0)
    return (date.getTime() - offset * 60_000) * MICROS
  }
  const [y, m, d, h, min] = parts
  const dated = new Date(0)
  dated.setUTCFullYear(y, m, d)
  // A day that does not exist moves the month on: 2023-02-29 becomes March.
  if (dated.getUTCMonth() !== m || dated.getUTCDate() !== d) return undefined
  const from = at(y, m, d, h, min, seconds)
  if (month === undefined) return { from, to: at(y + 1, 0, 1, 0, 0, 0) }
  if (day === undefined) return { from, to: at(y, m + 1, 1, 0, 0, 0) }
  if (hour === undefined) return { from, to: at(y, m, d + 1, 0, 0, 0) }
  if (second === undefined) return { from, to: from + 60_000_000 }
  if (fraction === undefined) return { from, to: from + 1_000_000 }
  const micros = Math.floor(Number(fraction.padEnd(9, '0')) / 1000)
  const width = fraction.length >= 6 ? 1 : 10 ** (6 - fraction.length)
  return { from: from + micros, to: from + micros + width }
}
