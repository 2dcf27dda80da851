/**
 * date, dateTime, instant and time as R4 defines them, made exact: a day must exist in its month, 24:00 is refused, a
 * time needs seconds and (but for `time`) a zone. A leap second is accepted. https://hl7.org/fhir/R4/datatypes.html#dateTime
 */

const DAYS = [0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Value of the two digits at `at`, or -1. */
const two = (text: string, at: number): number => {
  const tens = text.charCodeAt(at) - 48
  const ones = text.charCodeAt(at + 1) - 48
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1
}

/** Whether the text starts with an existing YYYY-MM-DD, or is an existing YYYY or YYYY-MM. */
const startsWithDate = (text: string): boolean => {
  const century = two(text, 0)
  const rest = two(text, 2)
  if (century < 0 || rest < 0) return false
  const year = century * 100 + rest
  if (year === 0) return false // R4 has no year 0000
  if (text.length === 4) return true
  if (text.charCodeAt(4) !== 45) return false
  const month = two(text, 5)
  if (month < 1 || month > 12) return false
  if (text.length === 7) return true
  if (text.charCodeAt(7) !== 45) return false
  const day = two(text, 8)
  if (day < 1 || day > DAYS[month]!) return false
  if (month === 2 && day === 29) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return true
}

/** End of `hh:mm:ss(.fraction)?` that begins at `at`, or -1. */
const afterTime = (text: string, at: number): number => {
  const hour = two(text, at)
  const minute = two(text, at + 3)
  const second = two(text, at + 6)
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return -1
  if (text.charCodeAt(at + 2) !== 58 || text.charCodeAt(at + 5) !== 58) return -1
  let end = at + 8
  if (text.charCodeAt(end) !== 46) return end
  const first = ++end
  for (let digit = text.charCodeAt(end); digit >= 48 && digit <= 57; digit = text.charCodeAt(end)) end++
  return end === first ? -1 : end
}

/** Whether `Z` or `+hh:mm` (up to 14:00) stands at `at` and ends the text. */
const endsWithZone = (text: string, at: number): boolean => {
  const sign = text.charCodeAt(at)
  if (sign === 90) return text.length === at + 1
  if ((sign !== 43 && sign !== 45) || text.length !== at + 6 || text.charCodeAt(at + 3) !== 58) return false
  const hour = two(text, at + 1)
  const minute = two(text, at + 4)
  return hour >= 0 && minute >= 0 && (hour < 14 ? minute < 60 : hour === 14 && minute === 0)
}

/** YYYY, YYYY-MM or YYYY-MM-DD. */
export const isDate = (text: string): boolean => {
  const length = text.length
  return (length === 10 || length === 7 || length === 4) && startsWithDate(text)
}

/** YYYY-MM-DDThh:mm:ss(.s+)? with a zone. */
export const isInstant = (text: string): boolean => {
  if (text.length < 20 || text.charCodeAt(10) !== 84 || !startsWithDate(text)) return false
  const end = afterTime(text, 11)
  return end > 0 && endsWithZone(text, end)
}

/** A date, or an instant. */
export const isDateTime = (text: string): boolean => (text.length <= 10 ? isDate(text) : isInstant(text))

/** hh:mm:ss(.s+)?, no zone. */
export const isTime = (text: string): boolean => text.length >= 8 && afterTime(text, 0) === text.length
