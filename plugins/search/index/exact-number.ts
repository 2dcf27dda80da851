/**
 * A number as the index stores it: a double, and a text for numbers that share a double. `near` is the largest double
 * whose shortest decimal is at most the number. `rest` is the difference, written so that texts sort as the
 * differences do; it is empty when there is none, as for nearly all numbers. Ordering by (near, rest) orders the
 * numbers, in both databases.
 */
import { compareRatios, decimal, MAX_DIGITS, type Ratio, readRatio, subtract } from '../../model/service.ts'

export interface ExactNumber {
  readonly near: number
  /** ASCII text that is compared byte by byte. */
  readonly rest: string
}

/** Added to the decimal exponent of a difference, so that it is positive for every number that can be read. */
const OFFSET = 50_000
/** Decimals with up to so many digits are all represented by different doubles. */
const SURE_DIGITS = 15
const SURE = 10n ** BigInt(SURE_DIGITS)
const SMALLEST_NORMAL = 2.3e-308

/** `!` sorts before all digits and `~` after them. */
const MIN_KEY = '!'
const MAX_KEY = '~'

const BITS = new BigInt64Array(1)
const DOUBLE = new Float64Array(BITS.buffer)
/** The next double above or below. */
const beside = (value: number, upwards: boolean): number => {
  if (value === 0) return upwards ? Number.MIN_VALUE : -Number.MIN_VALUE
  DOUBLE[0] = value
  BITS[0] = (BITS[0] as bigint) + (value > 0 === upwards ? 1n : -1n)
  return DOUBLE[0] as number
}
const shortestOf = (value: number): Ratio => readRatio(String(value)) as Ratio

/**
 * A positive number as a text that sorts by value: first its exponent, then its digits, all that are read of a number.
 * `~` behind them means that there are more, as in a product or a quotient.
 */
const toRest = ({ digits, exponent, over }: Ratio): string => {
  // A quotient may have infinitely many digits: so many are enough for MAX_DIGITS.
  const more = over === 1n ? 0 : MAX_DIGITS + over.toString().length
  const scaled = digits * 10n ** BigInt(more)
  const text = (scaled / over).toString()
  const place = String(OFFSET + text.length + exponent - more).padStart(6, '0')
  const kept = text.slice(0, MAX_DIGITS).replace(/0+$/, '')
  const isWhole = scaled % over === 0n && /^0*$/.test(text.slice(MAX_DIGITS))
  return isWhole ? place + kept : `${place}${text.slice(0, MAX_DIGITS)}${MAX_KEY}`
}

/** An approximation, at most a few doubles away. */
const guess = ({ digits, exponent, over }: Ratio): number => {
  if (over === 1n) return Number(`${digits}e${exponent}`)
  const more = 25 + over.toString().length
  return Number(`${(digits * 10n ** BigInt(more)) / over}e${exponent - more}`)
}

const clamp = (value: number): number => Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value)) + 0

export const toExactNumber = (value: Ratio): ExactNumber => {
  const { digits, over } = value
  let near = clamp(guess(value))
  if (over === 1n && digits < SURE && digits > -SURE && (digits === 0n || Math.abs(near) >= SMALLEST_NORMAL))
    return { near, rest: '' }
  // Corrects the approximation, one double at a time, to the largest double whose decimal is at most the value.
  while (near < Number.MAX_VALUE && compareRatios(shortestOf(beside(near, true)), value) <= 0) near = beside(near, true)
  while (near > -Number.MAX_VALUE && compareRatios(shortestOf(near), value) > 0) near = beside(near, false)
  const left = subtract(value, shortestOf(near))
  // `+ 0` turns -0 into 0.
  return { near: near + 0, rest: left.digits > 0n ? toRest(left) : '' }
}

/** Reads the digits of a JSON number. */
export const exactOfDigits = (digits: string): ExactNumber => toExactNumber(readRatio(digits) ?? decimal(0n))

/** Bounds beyond all numbers that can be stored: one greater than any of them, one less. */
export const ABOVE_ALL: ExactNumber = { near: Number.MAX_VALUE, rest: MAX_KEY }
export const BELOW_ALL: ExactNumber = { near: -Number.MAX_VALUE, rest: '' }

/** A bound between the number and everything greater: the lower end of a range that excludes the number. */
export const justAbove = ({ near, rest }: ExactNumber): ExactNumber => ({ near, rest: `${rest}${MIN_KEY}` })

/** A bound between the number and everything less. */
export const justBelow = ({ near, rest }: ExactNumber): ExactNumber => {
  if (rest === '') return { near: beside(near, false), rest: MAX_KEY }
  const last = rest.slice(-1)
  // The digits of a rest never end with 0, so the last one can be decreased.
  return { near, rest: last === MAX_KEY ? rest : `${rest.slice(0, -1)}${Number(last) - 1}${MAX_KEY}` }
}

/** Compares (near, rest) with `other`: negative, 0 or positive. */
export const compareExact = (near: number, rest: string, other: ExactNumber): number =>
  near !== other.near ? near - other.near : rest === other.rest ? 0 : rest < other.rest ? -1 : 1
