/** Exact arithmetic on decimals and fractions, for the bounds of number searches and for conversion factors of units. */

/** The value digits × 10^exponent / over. `over` is positive, and 1 if the value has a finite decimal form. */
export interface Ratio {
  readonly digits: bigint
  readonly exponent: number
  readonly over: bigint
}

const DECIMAL = /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/
/** Significant digits that are read; the rest are dropped. The bound keeps one long number from blocking the process. */
export const MAX_DIGITS = 400
/** Smallest magnitude that is read: a number closer to 0 than 10^-1000 becomes 10^-1000 with its sign. */
export const MIN_EXPONENT = -1_000

export const decimal = (digits: bigint, exponent = 0): Ratio => ({ digits, exponent, over: 1n })

/**
 * Reads a JSON number; a plus sign and leading zeros are accepted too. Undefined if the text is not a number. The exponent is
 * not bounded above: the caller must check the size before it calculates.
 */
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

/** The same value in lowest terms; the denominator becomes 1 if the value has a finite decimal form. */
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

/** `other` must not be 0. */
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
