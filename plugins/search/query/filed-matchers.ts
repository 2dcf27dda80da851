/**
 * Many matchers, filed so that a change is tested against few of them: one map by the keys of their most selective clause,
 * and a list for each type of those without one.
 */
import type { Matcher } from './matcher.ts'

export interface Filed {
  readonly matcher: Matcher
}

export interface FiledMatchers<F extends Filed> {
  add(filed: F): void
  remove(filed: F): void
  /** Whether any is of this type. */
  has(type: string): boolean
  /** Those that a resource with these keys may match; undefined stands for no resource. */
  find(type: string, keys: readonly number[] | undefined, others: readonly number[] | undefined): Iterable<F>
  /** The number of those without a key. */
  readonly listed: number
}

const NONE: readonly never[] = []

export const createFiledMatchers = <F extends Filed>(): FiledMatchers<F> => {
  const byKey = new Map<number, F | Set<F>>()
  const lists = new Map<string, Set<F>>()
  const ofType = new Map<string, number>()
  let listed = 0

  const put = (key: number, filed: F): void => {
    const there = byKey.get(key)
    if (there === undefined) byKey.set(key, filed)
    else if (there instanceof Set) there.add(filed)
    else byKey.set(key, new Set([there, filed]))
  }
  const take = (key: number, filed: F): void => {
    const there = byKey.get(key)
    if (there === filed) byKey.delete(key)
    else if (there instanceof Set && there.delete(filed) && there.size === 0) byKey.delete(key)
  }
  /** Adds to `found`, or to a set of its own: mostly nothing is found. */
  const gather = (found: Set<F> | undefined, keys: readonly number[]): Set<F> | undefined => {
    for (const key of keys) {
      const there = byKey.get(key)
      if (there === undefined) continue
      found ??= new Set()
      if (there instanceof Set) for (const one of there) found.add(one)
      else found.add(there)
    }
    return found
  }
  return {
    add(filed) {
      const { type, keys } = filed.matcher
      ofType.set(type, (ofType.get(type) ?? 0) + 1)
      if (keys !== undefined) {
        for (const key of keys) put(key, filed)
        return
      }
      listed += 1
      const list = lists.get(type) ?? new Set()
      lists.set(type, list.add(filed))
    },
    remove(filed) {
      const { type, keys } = filed.matcher
      const left = (ofType.get(type) ?? 1) - 1
      if (left === 0) ofType.delete(type)
      else ofType.set(type, left)
      if (keys !== undefined) {
        for (const key of keys) take(key, filed)
        return
      }
      listed -= 1
      lists.get(type)?.delete(filed)
    },
    has: (type) => ofType.has(type),
    find(type, keys, others) {
      const list = lists.get(type)
      let found = list === undefined || list.size === 0 ? undefined : new Set(list)
      if (keys !== undefined) found = gather(found, keys)
      if (others !== undefined) found = gather(found, others)
      return found ?? NONE
    },
    get listed() {
      return listed
    },
  }
}
