/** Numbers with their implicit precision: 100 is 99.5 to 100.5, 1e2 is 50 to 150. https://hl7.org/fhir/R4/search.html#number */

export interface NumberValue {
  readonly value: number
  /** Half-open range that the digits given cover. */
  readonly low: number
  readonly high: number
}

const NUMBER = /^([+-]?)(\d{1,40})(?:\.(\d{1,40}))?(?:[eE]([+-]?\d{1,3}))?$/

/** Undefined when the text is no number, or larger than one can be. */
export const readNumber = (text: string): NumberValue | undefined => {
  const match = NUMBER.exec(text)
  if (match === null) return undefined
  const [, , , fraction = '', exponent = '0'] = match
  const value = Number(text)
  if (!Number.isFinite(value)) return undefined
  const half = 0.5 * 10 ** (Number(exponent) - fraction.length)
  return { value, low: value - half, high: value + half }
}
