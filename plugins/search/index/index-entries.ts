/** Index rows of one resource in flat arrays, one value after the other, so that no object is made for each row. */

/** Values of one row in each array. */
export const TOKEN_COLUMNS = 3
export const REFERENCE_COLUMNS = 2
export const DATE_COLUMNS = 3
export const QUANTITY_COLUMNS = 8
export const STRING_COLUMNS = 4
export const TEXT_COLUMNS = 4
export const COMPOSITE_COLUMNS = 15

/** Offsets of the two ends of a range in a row, and of their rests: see exact-number.ts. */
export interface Places {
  readonly low: number
  readonly high: number
  readonly lowRest: number
  readonly highRest: number
}
export const QUANTITY: Places = { low: 1, high: 2, lowRest: 6, highRest: 7 }
/** The same for a composite: of its first component that has a range, and of its second. */
export const COMPOSITE = {
  first: { low: 3, high: 4, lowRest: 10, highRest: 11 },
  second: { low: 7, high: 8, lowRest: 12, highRest: 13 },
  key: 9,
  tail: 14,
} as const

export class IndexEntries {
  /** column, value, system */
  readonly token: number[] = []
  /** column, target */
  readonly reference: number[] = []
  /** column, from, to (exclusive); milliseconds */
  readonly date: number[] = []
  /** column, low, high, code, system, unit, rests of low and high: see exact-number.ts */
  readonly quantity: (number | string)[] = []
  /** column, key, hash of the exact text, whole normalized text when it is longer than the key */
  readonly string: (number | string | null)[] = []
  /**
   * column, value, system, low, high, value2, system2, low2, high2, key, rests of low, high, low2 and high2, whole
   * normalized text when it is longer than the key
   */
  readonly composite: (number | string | null)[] = []
  /** column, key, token, whole normalized text when it is longer than the key: displays for `:text` */
  readonly text: (number | string | null)[] = []
  /** Alias columns that have a value; they have no rows. */
  readonly present: number[] = []

  /** Empties the arrays but keeps their memory for the next rows, which `length = 0` would free. */
  clear(): void {
    const { token, reference, date, quantity, string, composite, text, present } = this
    for (let left = token.length; left > 0; left -= 1) token.pop()
    for (let left = reference.length; left > 0; left -= 1) reference.pop()
    for (let left = date.length; left > 0; left -= 1) date.pop()
    for (let left = quantity.length; left > 0; left -= 1) quantity.pop()
    for (let left = string.length; left > 0; left -= 1) string.pop()
    for (let left = composite.length; left > 0; left -= 1) composite.pop()
    for (let left = text.length; left > 0; left -= 1) text.pop()
    for (let left = present.length; left > 0; left -= 1) present.pop()
  }
}
