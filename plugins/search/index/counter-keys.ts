/** Computes the counters of index rows, with which change-counters.ts invalidates cached pages. Worker threads use it too. */
import {
  COMPOSITE_COLUMNS,
  type IndexEntries,
  REFERENCE_COLUMNS,
  STRING_COLUMNS,
  TOKEN_COLUMNS,
} from './index-entries.ts'

export const COUNTERS = 32_768 // a power of two

/**
 * Index of the counter of a column and a value in it. Strings are searched by ranges, so all values of a string
 * column share one counter.
 */
export const counterKeyOf = (column: number, value = 0, system = 0): number => {
  const mixed = Math.imul(column, 0x9e3779b1) ^ Math.imul(value | 0, 0x85ebca6b) ^ Math.imul(system | 0, 0xc2b2ae35)
  return (mixed ^ (mixed >>> 15)) & (COUNTERS - 1)
}

/** Appends the counters of all rows to `keys`. */
export const addKeys = (
  { token, reference, string, composite }: IndexEntries,
  keys: { push(key: number): unknown },
): void => {
  for (let at = 0; at < token.length; at += TOKEN_COLUMNS)
    keys.push(counterKeyOf(token[at] as number, token[at + 1], token[at + 2]))
  for (let at = 0; at < reference.length; at += REFERENCE_COLUMNS)
    keys.push(counterKeyOf(reference[at] as number, reference[at + 1]))
  for (let at = 0; at < composite.length; at += COMPOSITE_COLUMNS)
    keys.push(counterKeyOf(composite[at] as number, composite[at + 1] as number, composite[at + 2] as number))
  for (let at = 0; at < string.length; at += STRING_COLUMNS) keys.push(counterKeyOf(string[at] as number))
}
