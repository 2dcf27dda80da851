/**
 * Invalidates cached search pages. A cached page is valid as long as nothing was written under the index key that its
 * search started from. Each write counts for all keys of the resource, of the versions before and after it, changed
 * or not: a resource that is on such a page, or would now be on it, has that key. The counters increase after COMMIT
 * and before the write is answered, so a page that was read earlier no longer matches them.
 *
 * Keys share counters by hash. A collision can only invalidate a page that is still right; it never keeps an outdated
 * one.
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

export interface ChangeCounters {
  /** Remembers the rows of a resource, before or after the change that makes `version`. */
  record(version: StoredVersion, rows: IndexEntries): void
  /** Does the same with keys that `addKeys` has computed. */
  recordKeys(version: StoredVersion, keys: readonly number[]): void
  /** Called after COMMIT; increases the counters. */
  committed(versions: readonly StoredVersion[]): void
  /** The sum of the counters of some keys. It grows with every change under one of them. */
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
