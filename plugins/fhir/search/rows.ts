/** Index rows of one resource, flat: column after column, so that making them leaves no object per row. */

/** Numbers per row in each list. */
export const TOKEN_WIDTH = 3
export const REFERENCE_WIDTH = 2
export const DATE_WIDTH = 3
export const QUANTITY_WIDTH = 6
export const STRING_WIDTH = 4
export const COMPOSITE_WIDTH = 10

export class Rows {
  /** column, value, system */
  readonly token: number[] = []
  /** column, target */
  readonly reference: number[] = []
  /** column, from, to (exclusive); milliseconds */
  readonly date: number[] = []
  /** column, low, high, code, system, unit */
  readonly quantity: number[] = []
  /** column, key, hash of the exact text, whole folded text when it is longer than the key */
  readonly string: (number | string | null)[] = []
  /** column, value, system, low, high, value2, system2, low2, high2, key */
  readonly composite: (number | string)[] = []
  /** column, folded text, token: displays that `:text` looks up */
  readonly text: (number | string)[] = []
  /** Columns without rows of their own that have a value. */
  readonly present: number[] = []

  /** Empties all lists, for rows that are used again. */
  clear(): void {
    const { token, reference, date, quantity, string, composite, text, present } = this
    if (token.length > 0) token.length = 0
    if (reference.length > 0) reference.length = 0
    if (date.length > 0) date.length = 0
    if (quantity.length > 0) quantity.length = 0
    if (string.length > 0) string.length = 0
    if (composite.length > 0) composite.length = 0
    if (text.length > 0) text.length = 0
    if (present.length > 0) present.length = 0
  }
}
