/** The value of a JSON number: of one whose digits a double does not hold, by its digits. */
import { decimalText } from '../../../model/service.ts'
import { type ExactNumber, exactOfDigits } from '../exact-number.ts'

/** Undefined for what is no number. */
export const exactValue = (value: unknown): ExactNumber | undefined => {
  // One that was parsed to a double is written like it: see indexed-json.ts.
  if (typeof value === 'number') return { near: value, rest: '' }
  const digits = decimalText(value)
  return digits === undefined ? undefined : exactOfDigits(digits)
}
