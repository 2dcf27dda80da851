/**
 * What has changed since, told by keys of the index: pages that searches found are kept for as long as nothing was
 * written under the key they started from. A write counts with all keys of the resource, before and after it, changed or
 * not: whatever is on such a page, or would be now, has that key. It counts after COMMIT and before anybody is told of it,
 * so what was read in between does not pass for what came later.
 *
 * Keys share counters: one that is met by chance makes a page count as changed that is not, never the reverse.
 */
import type { StoredVersion } from '../../storage/service.ts'
import {
  COMPOSITE_COLUMNS,
  type IndexEntries,
  REFERENCE_COLUMNS,
  STRING_COLUMNS,
  TOKEN_COLUMNS,
} from './index-entries.ts'

const COUNTERS = 32_768 // a power of two

/** Of a column, and of a value in it; a string is found by a range, so all of its column are one key. */
export const counterKeyOf = (column: number, value = 0, system = 0): number => {
  const mixed = Math.imul(column, 0x9e3779b1) ^ Math.imul(value | 0, 0x85ebca6b) ^ Math.imul(system | 0, 0xc2b2ae35)
  return (mixed ^ (mixed >>> 15)) & (COUNTERS - 1)
}

/** Adds the keys of rows to `keys`. */
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

export interface ChangeCounters {
  /** Rows of a resource, before or after a change that makes `version`. */
  record(version: StoredVersion, rows: IndexEntries): void
  /** The same of keys that were worked out before: see `addKeys`. */
  recordKeys(version: StoredVersion, keys: readonly number[]): void
  /** After COMMIT. */
  committed(versions: readonly StoredVersion[]): void
  /** Changes under some keys so far: grows with each. */
  countersOf(keys: readonly number[]): number
}

export const createChangeCounters = (): ChangeCounters => {
  const counters = new Float64Array(COUNTERS)
  return {
    record(version, rows) {
      version.keys ??= []
      addKeys(rows, version.keys)
    },
    recordKeys(version, keys) {
      version.keys = version.keys === undefined ? [...keys] : version.keys.concat(keys)
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
    countersOf(keys) {
      let sum = 0
      for (const key of keys) sum += counters[key] as number
      return sum
    },
  }
}
