/**
 * Reads the range that a number covers by its implicit precision: 100 covers 99.5 to 100.5, and 1e2 covers 50 to 150.
 * https://hl7.org/fhir/R4/search.html#number
 */
import { add, decimal, type Ratio, readRatio, subtract } from './ratio.ts'

export interface DecimalRange {
  readonly value: Ratio
  /** Half-open range: half a unit of the last digit below and above the value. */
  readonly low: Ratio
  readonly high: Ratio
}

const NUMBER = /^[+-]?\d{1,40}(?:\.(\d{1,40}))?(?:[eE]([+-]?\d{1,3}))?$/

/** Undefined if the text is not a number, has more digits than NUMBER allows, or exceeds the range of a double. */
export const readDecimalRange = (text: string): DecimalRange | undefined => {
  const match = NUMBER.exec(text)
  const value = match === null ? undefined : readRatio(text)
  if (match === null || value === undefined || !Number.isFinite(Number(text))) return undefined
  const [, fraction = '', exponent = '0'] = match
  const half = decimal(5n, Number(exponent) - fraction.length - 1)
  return { value, low: subtract(value, half), high: add(value, half) }
}
