/** Compares answers with values of the Questionnaire. */
import { compareDateTimes } from '../../model/service.ts'
import { isObject } from '../questionnaire/json.ts'

/** The unit of a Quantity: its code, else its text. */
const unitOf = ({ code, unit }: Readonly<Record<string, unknown>>): unknown => code ?? unit

const MOMENT = /(?:Date|DateTime|Time|Instant)$/

/** Whether the member `value[x]` or `answer[x]` holds a date, a time of day or an instant. */
const isMoment = (member: string | undefined): boolean => member !== undefined && MOMENT.test(member)

const textOrder = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

/** Times are compared as instants. Of dates of different precision what both have is compared. */
const compareMoments = (one: string, other: string): number => {
  const difference = compareDateTimes(one, other)
  if (typeof difference === 'number') return difference
  const [date = '', otherDate = ''] = [one.split('T')[0], other.split('T')[0]]
  const length = Math.min(date.length, otherDate.length)
  return textOrder(date.slice(0, length), otherDate.slice(0, length))
}

/** Negative, 0 or positive; undefined where they cannot be compared. `member`: the one that has the value, such as valueTime. */
export const compareValues = (one: unknown, other: unknown, member: string | undefined): number | undefined => {
  if (typeof one === 'number' && typeof other === 'number') return one - other
  if (typeof one === 'string' && typeof other === 'string')
    return isMoment(member) ? compareMoments(one, other) : textOrder(one, other)
  if (isObject(one) && isObject(other) && typeof one.value === 'number' && typeof other.value === 'number')
    return unitOf(one) === unitOf(other) ? one.value - other.value : undefined
  return undefined
}

/**
 * Codings are the same by code and, where both have one, system; References by their text; dates and times of
 * the same precision as instants; others by their value.
 */
export const isSameValue = (answer: unknown, value: unknown, member: string | undefined): boolean => {
  if (isObject(answer) && isObject(value)) {
    if (value.code !== undefined && value.value === undefined)
      return answer.code === value.code && (value.system === undefined || answer.system === value.system)
    if (value.reference !== undefined) return answer.reference === value.reference
    return compareValues(answer, value, member) === 0
  }
  if (answer === value) return true
  const areTexts = typeof answer === 'string' && typeof value === 'string'
  return areTexts && isMoment(member) && compareDateTimes(answer, value) === 0
}
