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

  /** Empties all lists, for few rows that are used again: setting a length gives the memory away. */
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
