/**
 * Compiled live queries, filed so that a change meets few of them: one map by the keys of their most selective clause, and
 * a list for each type of those without one.
 */
import type { Matcher } from '../fhir/service.ts'

export interface Filed {
  readonly matcher: Matcher
}

export interface FiledQueries<F extends Filed> {
  add(query: F): void
  remove(query: F): void
  /** Whether any query is of this type. */
  has(type: string): boolean
  /** Those that a resource with these keys may match; undefined stands for no resource. */
  find(type: string, keys: readonly number[] | undefined, others: readonly number[] | undefined): ReadonlySet<F>
  /** Queries without a key. */
  readonly listed: number
}

export const createFiledQueries = <F extends Filed>(): FiledQueries<F> => {
  const byKey = new Map<number, F | Set<F>>()
  const lists = new Map<string, Set<F>>()
  const ofType = new Map<string, number>()
  let listed = 0

  const put = (key: number, query: F): void => {
    const there = byKey.get(key)
    if (there === undefined) byKey.set(key, query)
    else if (there instanceof Set) there.add(query)
    else byKey.set(key, new Set([there, query]))
  }
  const take = (key: number, query: F): void => {
    const there = byKey.get(key)
    if (there === query) byKey.delete(key)
    else if (there instanceof Set && there.delete(query) && there.size === 0) byKey.delete(key)
  }
  const gather = (found: Set<F>, keys: readonly number[]): void => {
    for (const key of keys) {
      const there = byKey.get(key)
      if (there === undefined) continue
      if (there instanceof Set) for (const one of there) found.add(one)
      else found.add(there)
    }
  }
  return {
    add(query) {
      const { type, keys } = query.matcher
      ofType.set(type, (ofType.get(type) ?? 0) + 1)
      if (keys !== undefined) {
        for (const key of keys) put(key, query)
        return
      }
      listed += 1
      const list = lists.get(type) ?? new Set()
      lists.set(type, list.add(query))
    },
    remove(query) {
      const { type, keys } = query.matcher
      const left = (ofType.get(type) ?? 1) - 1
      if (left === 0) ofType.delete(type)
      else ofType.set(type, left)
      if (keys !== undefined) {
        for (const key of keys) take(key, query)
        return
      }
      listed -= 1
      lists.get(type)?.delete(query)
    },
    has: (type) => ofType.has(type),
    find(type, keys, others) {
      const found = new Set<F>(lists.get(type))
      if (keys !== undefined) gather(found, keys)
      if (others !== undefined) gather(found, others)
      return found
    },
    get listed() {
      return listed
    },
  }
}
