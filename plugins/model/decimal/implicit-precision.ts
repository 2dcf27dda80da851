/**
 * Reads the range that a number covers by its implicit precision: 100 covers 99.5 to 100.5, and 1e2 covers 50 to 150.
 * https://hl7.org/fhir/R4/search.html#number
 */
import { add, decimal, MAX_DIGITS, MIN_EXPONENT, type Ratio, readRatio, subtract } from './ratio.ts'

export interface DecimalRange {
  readonly value: Ratio
  /** Half-open range: half a unit of the last digit below and above the value. */
  readonly low: Ratio
  readonly high: Ratio
}

/** Why a text has no range; with `no-number` it is not a number at all. */
export type NoRange = 'no-number' | 'too-many-digits' | 'too-large'

const NUMBER = /^[+-]?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/
/** Half a unit of the last digit is not smaller, as no number is closer to 0 than its double. */
const MIN_HALF = MIN_EXPONENT - 1
/** Nor larger, which matters for 0e999: the range of a double ends below. */
const MAX_HALF = 309

/** Leading zeros are not counted as digits. The digits and the size are limited, so that the work for a text is. */
export const readDecimalRange = (text: string): DecimalRange | NoRange => {
  const match = NUMBER.exec(text)
  if (match === null) return 'no-number'
  const [, whole = '', fraction = '', exponent = '0'] = match
  if (`${whole}${fraction}`.replace(/^0+/, '').length > MAX_DIGITS) return 'too-many-digits'
  const value = readRatio(text)
  if (value === undefined || !Number.isFinite(Number(text))) return 'too-large'
  const half = decimal(5n, Math.max(MIN_HALF, Math.min(MAX_HALF, Number(exponent) - fraction.length - 1)))
  return { value, low: subtract(value, half), high: add(value, half) }
}
