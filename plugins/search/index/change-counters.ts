/**
 * What has changed since, told by keys of the index: pages that searches found are kept for as long as nothing was
 * written under the key they started from. A write counts with all keys of the resource, before and after it, changed or
 * not: whatever is on such a page, or would be now, has that key. It counts after COMMIT and before anybody is told of it,
 * so what was read in between does not pass for what came later.
 *
 * Keys share counters: one that is met by chance makes a page count as changed that is not, never the reverse.
 */
import type { StoredVersion } from '../../storage/service.ts'
import { ABSOLUTE, COLUMN_STEP } from '../definition/column-codes.ts'
import { COMPOSITE_WIDTH, REFERENCE_WIDTH, type Rows, STRING_WIDTH, TOKEN_WIDTH } from './index-entries.ts'

const COUNTERS = 32_768 // a power of two

/** Of a column, and of a value in it; a string is found by a range, so all of its column are one key. */
export const keyOf = (column: number, value = 0, system = 0): number => {
  const mixed = Math.imul(column, 0x9e3779b1) ^ Math.imul(value | 0, 0x85ebca6b) ^ Math.imul(system | 0, 0xc2b2ae35)
  return (mixed ^ (mixed >>> 15)) & (COUNTERS - 1)
}

/** Adds the keys of rows to `keys`, and to `absolutes` the columns in which they hold references with a whole address. */
export const addKeys = (
  { token, reference, string, composite }: Rows,
  keys: { push(key: number): unknown },
  absolutes: Set<number>,
): void => {
  for (let at = 0; at < token.length; at += TOKEN_WIDTH)
    keys.push(keyOf(token[at] as number, token[at + 1], token[at + 2]))
  for (let at = 0; at < reference.length; at += REFERENCE_WIDTH) {
    const column = reference[at] as number
    keys.push(keyOf(column, reference[at + 1]))
    if (column % COLUMN_STEP === ABSOLUTE) absolutes.add(column - ABSOLUTE)
  }
  for (let at = 0; at < composite.length; at += COMPOSITE_WIDTH)
    keys.push(keyOf(composite[at] as number, composite[at + 1] as number, composite[at + 2] as number))
  for (let at = 0; at < string.length; at += STRING_WIDTH) keys.push(keyOf(string[at] as number))
}

export interface Changes {
  /** Rows of a resource, before or after a change that makes `version`. */
  note(version: StoredVersion, rows: Rows): void
  /** The same of keys that were worked out before: see `addKeys`. */
  noteKeys(version: StoredVersion, keys: readonly number[], absolutes: readonly number[]): void
  /** After COMMIT. */
  committed(versions: readonly StoredVersion[]): void
  /** Has a reference with a whole address been about to be written in this column? */
  hasAbsolute(column: number): boolean
  /** Changes under some keys so far: grows with each. */
  under(keys: readonly number[]): number
}

export const createChanges = (): Changes => {
  const counters = new Float64Array(COUNTERS)
  const absolutes = new Set<number>()
  return {
    note(version, rows) {
      version.keys ??= []
      addKeys(rows, version.keys, absolutes)
    },
    noteKeys(version, keys, columns) {
      version.keys = version.keys === undefined ? [...keys] : version.keys.concat(keys)
      for (const column of columns) absolutes.add(column)
    },
    committed(versions) {
      for (const version of versions) {
        const { keys } = version
        if (keys === undefined) continue
        for (let at = 0; at < keys.length; at += 1) {
          const key = keys[at] as number
          counters[key] = (counters[key] as number) + 1
        }
        version.keys = undefined
      }
    },
    hasAbsolute: (column) => absolutes.has(column),
    under(keys) {
      let sum = 0
      for (const key of keys) sum += counters[key] as number
      return sum
    },
  }
}
