/** Parses and compares JSON whose numbers keep the digits they were written with: 1.00 stays 1.00. */

// TypeScript's library does not declare these two yet: https://github.com/tc39/proposal-json-parse-with-source
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): unknown
  isRawJSON(value: unknown): boolean
}

/** Like JSON.parse, but every number becomes a raw JSON object that holds its text; see `decimalText`. */
export const parseExact = (text: string): unknown =>
  JSON.parse(text, ((_key: string, value: unknown, context: { source?: string }) =>
    typeof value === 'number' && context.source !== undefined ? rawJSON(context.source) : value) as (
    key: string,
    value: unknown,
  ) => unknown)

/** Makes such a number from its digits, to be put among values that were parsed in another way. */
export const keepDigits = (digits: string): unknown => rawJSON(digits)

/** The digits of a number that `parseExact` or `keepDigits` made; undefined for any other value. */
export const decimalText = (value: unknown): string | undefined =>
  isRawJSON(value) ? (value as { rawJSON: string }).rawJSON : undefined

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawJSON(value)

/** One spelling for equal numbers, so that they can be compared as text: the same for 1.0, 1 and 10e-1. */
const canonicalOf = (digits: string): string => {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(digits) ?? []
  const all = `${whole}${fraction}`.replace(/^0+/, '')
  const kept = all.replace(/0+$/, '')
  return kept === '' ? '0' : `${sign}${kept}e${Number(exponent) - fraction.length + all.length - kept.length}`
}

/** Whether the double `value` differs from the decimal that `digits` spells. */
export const isRounded = (digits: string, value: number): boolean => canonicalOf(digits) !== canonicalOf(String(value))

/** Whether two values are equal as JSON: the order of members does not count, and numbers compare by value. RFC 6902, section 4.6. */
export const equalExact = (one: unknown, other: unknown): boolean => {
  if (one === other) return true
  const digits = decimalText(one)
  if (digits !== undefined) {
    const others = decimalText(other)
    return others !== undefined && canonicalOf(digits) === canonicalOf(others)
  }
  if (Array.isArray(one))
    return Array.isArray(other) && one.length === other.length && one.every((item, at) => equalExact(item, other[at]))
  if (!isObject(one) || !isObject(other)) return false
  const keys = Object.keys(one)
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && equalExact(one[key], other[key]))
  )
}

/** A deep copy. */
export const copyExact = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(copyExact)
  if (!isObject(value)) return value
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) copy[key] = copyExact(value[key])
  return copy
}
