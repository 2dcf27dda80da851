/**
 * A number as the index holds it: a double, and a text that orders the numbers which the double alone does not tell apart.
 * The double is the largest one whose shortest decimal is not above the number; the text tells what is left, and is empty
 * for a number that is written like its double, as nearly all are. Numbers compare as (near, rest) does, in both databases.
 */
import { compareRatios, decimal, type Ratio, readRatio, subtract } from '../../model/service.ts'

export interface ExactNumber {
  readonly near: number
  /** ASCII: compared by bytes. */
  readonly rest: string
}

/** Digits of what is left that are kept; a `~` behind them stands for more. */
const MAX_DIGITS = 200
/** What is left begins above 10^-OFFSET for any number that is read, and below 10^OFFSET. */
const OFFSET = 50_000
/** Decimals of so many digits have doubles of their own. */
const SURE_DIGITS = 15
const SURE = 10n ** BigInt(SURE_DIGITS)
const SMALLEST_NORMAL = 2.3e-308

/** Between a number and all that are greater; digits lie between the two. */
const MIN_KEY = '!'
const MAX_KEY = '~'

const BITS = new BigInt64Array(1)
const DOUBLE = new Float64Array(BITS.buffer)
/** The double beside another one. */
const beside = (value: number, upwards: boolean): number => {
  if (value === 0) return upwards ? Number.MIN_VALUE : -Number.MIN_VALUE
  DOUBLE[0] = value
  BITS[0] = (BITS[0] as bigint) + (value > 0 === upwards ? 1n : -1n)
  return DOUBLE[0] as number
}
const shortestOf = (value: number): Ratio => readRatio(String(value)) as Ratio

/** A positive number as digits in order: where they begin, then the digits themselves. */
const toRest = ({ digits, exponent, over }: Ratio): string => {
  // Enough digits behind the first one of a fraction that has no end.
  const more = over === 1n ? 0 : MAX_DIGITS + over.toString().length
  const scaled = digits * 10n ** BigInt(more)
  const text = (scaled / over).toString()
  const place = String(OFFSET + text.length + exponent - more).padStart(6, '0')
  const kept = text.slice(0, MAX_DIGITS).replace(/0+$/, '')
  const isWhole = scaled % over === 0n && /^0*$/.test(text.slice(MAX_DIGITS))
  return isWhole ? place + kept : `${place}${text.slice(0, MAX_DIGITS)}${MAX_KEY}`
}

/** A first guess, at most a few doubles away. */
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
  // A guess of a fraction may be a few too low or too high; one of a decimal is next to the largest that is not above.
  while (near < Number.MAX_VALUE && compareRatios(shortestOf(beside(near, true)), value) <= 0) near = beside(near, true)
  while (near > -Number.MAX_VALUE && compareRatios(shortestOf(near), value) > 0) near = beside(near, false)
  const left = subtract(value, shortestOf(near))
  // A zero without its sign.
  return { near: near + 0, rest: left.digits > 0n ? toRest(left) : '' }
}

/** The digits of a JSON number. */
export const exactOfDigits = (digits: string): ExactNumber => toExactNumber(readRatio(digits) ?? decimal(0n))

/** Above all numbers that can be stored, and below. */
export const ABOVE_ALL: ExactNumber = { near: Number.MAX_VALUE, rest: MAX_KEY }
export const BELOW_ALL: ExactNumber = { near: -Number.MAX_VALUE, rest: '' }

/** Above the number and below all that are greater: where a range begins that leaves it out. */
export const justAbove = ({ near, rest }: ExactNumber): ExactNumber => ({ near, rest: `${rest}${MIN_KEY}` })

/** Below the number and above all that are less. */
export const justBelow = ({ near, rest }: ExactNumber): ExactNumber => {
  if (rest === '') return { near: beside(near, false), rest: MAX_KEY }
  const last = rest.slice(-1)
  // Digits never end with a 0.
  return { near, rest: last === MAX_KEY ? rest : `${rest.slice(0, -1)}${Number(last) - 1}${MAX_KEY}` }
}

/** Negative, 0 or positive. */
export const compareExact = (near: number, rest: string, other: ExactNumber): number =>
  near !== other.near ? near - other.near : rest === other.rest ? 0 : rest < other.rest ? -1 : 1
