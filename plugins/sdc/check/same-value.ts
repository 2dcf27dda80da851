/** Compares answers with values of the Questionnaire. */
import { isObject } from '../questionnaire/json.ts'

/** The unit of a Quantity: its code, else its text. */
const unitOf = ({ code, unit }: Readonly<Record<string, unknown>>): unknown => code ?? unit

const DATE = /^\d{4}(-\d\d)?(-\d\d)?(T|$)/

const toMs = (text: string): number => Date.parse(text)

/** Negative, 0 or positive; undefined where they cannot be compared. */
export const compareValues = (one: unknown, other: unknown): number | undefined => {
  if (typeof one === 'number' && typeof other === 'number') return one - other
  if (typeof one === 'string' && typeof other === 'string') {
    if (!DATE.test(one) || !DATE.test(other)) return one < other ? -1 : one > other ? 1 : 0
    // Of dates of different precision what both have is compared; times are compared as instants.
    if (one.includes('T') && other.includes('T')) return toMs(one) - toMs(other)
    const length = Math.min(one.split('T')[0]?.length ?? 0, other.split('T')[0]?.length ?? 0)
    return compareValues(` ${one.slice(0, length)}`, ` ${other.slice(0, length)}`)
  }
  if (isObject(one) && isObject(other) && typeof one.value === 'number' && typeof other.value === 'number')
    return unitOf(one) === unitOf(other) ? one.value - other.value : undefined
  return undefined
}

/** Codings are the same by code and, where both have one, system; References by their text; others by their value. */
export const isSameValue = (answer: unknown, value: unknown): boolean => {
  if (isObject(answer) && isObject(value)) {
    if (value.code !== undefined && value.value === undefined)
      return answer.code === value.code && (value.system === undefined || answer.system === value.system)
    if (value.reference !== undefined) return answer.reference === value.reference
    return compareValues(answer, value) === 0
  }
  return answer === value
}
