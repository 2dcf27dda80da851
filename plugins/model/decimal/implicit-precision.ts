/** Numbers with their implicit precision: 100 is 99.5 to 100.5, 1e2 is 50 to 150. https://hl7.org/fhir/R4/search.html#number */
import { add, decimal, type Ratio, readRatio, subtract } from './ratio.ts'

export interface DecimalRange {
  readonly value: Ratio
  /** Half-open range that the digits given cover. */
  readonly low: Ratio
  readonly high: Ratio
}

const NUMBER = /^[+-]?\d{1,40}(?:\.(\d{1,40}))?(?:[eE]([+-]?\d{1,3}))?$/

/** Undefined when the text is no number, or larger than one can be. */
export const readDecimalRange = (text: string): DecimalRange | undefined => {
  const match = NUMBER.exec(text)
  const value = match === null ? undefined : readRatio(text)
  if (match === null || value === undefined || !Number.isFinite(Number(text))) return undefined
  const [, fraction = '', exponent = '0'] = match
  const half = decimal(5n, Number(exponent) - fraction.length - 1)
  return { value, low: subtract(value, half), high: add(value, half) }
}
