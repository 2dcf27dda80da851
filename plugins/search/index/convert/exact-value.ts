/** Reads the value of a JSON number. Where a double cannot hold all of its digits, the digits are used. */
import { decimalText } from '../../../model/service.ts'
import { type ExactNumber, exactOfDigits } from '../exact-number.ts'

/** Undefined when the value is not a number. */
export const exactValue = (value: unknown): ExactNumber | undefined => {
  // The parser returns a double only where it is as exact as the digits: see indexed-json.ts.
  if (typeof value === 'number') return { near: value, rest: '' }
  const digits = decimalText(value)
  return digits === undefined ? undefined : exactOfDigits(digits)
}
