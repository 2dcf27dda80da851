/** Exact arithmetic on decimals and on fractions of them, for bounds of numbers and for factors between units. */

/** digits × 10^exponent / over; `over` is positive and 1 for a decimal. */
export interface Ratio {
  readonly digits: bigint
  readonly exponent: number
  readonly over: bigint
}

const DECIMAL = /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/
/** Digits that are read of a number: a longer one is cut off there, so that its length cannot take the time of others. */
const MAX_DIGITS = 400
/** A number whose first digit lies further behind the point than this is read as the one there. */
const MIN_EXPONENT = -1_000

export const decimal = (digits: bigint, exponent = 0): Ratio => ({ digits, exponent, over: 1n })

/** A JSON number, or one with a plus sign. Undefined when the text is none. Its size is for the caller to check. */
export const readRatio = (text: string): Ratio | undefined => {
  const match = DECIMAL.exec(text)
  if (match === null) return undefined
  const [, sign = '', whole = '', fraction = '', power = '0'] = match
  const significant = `${whole}${fraction}`.replace(/^0+/, '')
  if (significant === '') return decimal(0n)
  const kept = significant.slice(0, MAX_DIGITS)
  const exponent = Number(power) - fraction.length + significant.length - kept.length
  const signed = (digits: bigint): bigint => (sign === '-' ? -digits : digits)
  return exponent + kept.length < MIN_EXPONENT
    ? decimal(signed(1n), MIN_EXPONENT)
    : decimal(signed(BigInt(kept)), exponent)
}

const absolute = (value: bigint): bigint => (value < 0n ? -value : value)

const commonDivisor = (one: bigint, other: bigint): bigint => {
  let [a, b] = [absolute(one), absolute(other)]
  while (b !== 0n) [a, b] = [b, a % b]
  return a
}

/** The same value with a denominator of 1 where it has an end as a decimal. */
const reduce = ({ digits, exponent, over }: Ratio): Ratio => {
  if (over === 1n) return { digits, exponent, over }
  const divisor = commonDivisor(digits, over)
  let [top, bottom, power] = [digits / divisor, over / divisor, exponent]
  for (; bottom % 10n === 0n; power -= 1) bottom /= 10n
  for (; bottom % 2n === 0n; power -= 1) [top, bottom] = [top * 5n, bottom / 2n]
  for (; bottom % 5n === 0n; power -= 1) [top, bottom] = [top * 2n, bottom / 5n]
  return { digits: top, exponent: power, over: bottom }
}

export const multiply = (one: Ratio, other: Ratio): Ratio =>
  reduce({
    digits: one.digits * other.digits,
    exponent: one.exponent + other.exponent,
    over: one.over * other.over,
  })

/** `other` is not 0. */
export const divide = (one: Ratio, other: Ratio): Ratio => {
  const sign = other.digits < 0n ? -1n : 1n
  return reduce({
    digits: sign * one.digits * other.over,
    exponent: one.exponent - other.exponent,
    over: one.over * absolute(other.digits),
  })
}

export const add = (one: Ratio, other: Ratio): Ratio => {
  const exponent = Math.min(one.exponent, other.exponent)
  const scaled = ({ digits, exponent: own }: Ratio): bigint => digits * 10n ** BigInt(own - exponent)
  return reduce({ digits: scaled(one) * other.over + scaled(other) * one.over, exponent, over: one.over * other.over })
}

export const negate = (one: Ratio): Ratio => ({ ...one, digits: -one.digits })
export const subtract = (one: Ratio, other: Ratio): Ratio => add(one, negate(other))
export const magnitude = (one: Ratio): Ratio => ({ ...one, digits: absolute(one.digits) })

/** Negative, 0 or positive, as for `Array.sort`. */
export const compareRatios = (one: Ratio, other: Ratio): number => {
  const { digits } = subtract(one, other)
  return digits < 0n ? -1 : digits > 0n ? 1 : 0
}
