/** All compiled queries of this server, each once for all who share it, filed so that a change finds those it may concern. */
import type { Matcher } from '../fhir/service.ts'
import { createFiledMatchers, type FiledMatchers } from '../search/service.ts'
import type { Receiver } from './receiver.ts'
import type { SharedQuery } from './shared-query.ts'

export interface FiledQueries extends Pick<FiledMatchers<SharedQuery>, 'find' | 'has'> {
  readonly size: number
  /** The number of those without a key, which are tested against every change of their type. */
  readonly listed: number
  /** Returns the query to `remove`: the one of the same scope that was filed first, or the given one. */
  add(query: SharedQuery, receiver: Receiver): SharedQuery
  remove(query: SharedQuery, receiver: Receiver): void
  /** Receivers of all queries. */
  receivers(): readonly Receiver[]
  /** Receivers of queries whose meaning has changed; looked at each second, so it does not go through the queries. */
  outdated(): readonly Receiver[]
}

export const createFiledQueries = (): FiledQueries => {
  const filed = createFiledMatchers<SharedQuery>()
  /** By scope. Each has a receiver. */
  const shared = new Map<string, SharedQuery>()
  /** How many queries have each meaning. */
  const meanings = new Map<Matcher['meaning'], number>()
  return {
    find: filed.find,
    has: filed.has,
    get size() {
      return shared.size
    },
    get listed() {
      return filed.listed
    },
    add(query, receiver) {
      const { scope, matcher } = query
      const there = shared.get(scope)
      if (there?.matcher.meaning.isCurrent) {
        there.add(receiver)
        return there
      }
      // They would be reset within a second; a scope has one query.
      for (const one of there?.receivers ?? []) one.reset('meaning')
      query.add(receiver)
      shared.set(scope, query)
      filed.add(query)
      meanings.set(matcher.meaning, (meanings.get(matcher.meaning) ?? 0) + 1)
      return query
    },
    remove(query, receiver) {
      if (!query.remove(receiver) || !query.isUnused) return
      const { scope, matcher } = query
      shared.delete(scope)
      filed.remove(query)
      const left = (meanings.get(matcher.meaning) ?? 1) - 1
      if (left === 0) meanings.delete(matcher.meaning)
      else meanings.set(matcher.meaning, left)
    },
    receivers: () => [...shared.values()].flatMap(({ receivers }) => receivers),
    outdated() {
      if ([...meanings.keys()].every(({ isCurrent }) => isCurrent)) return []
      return [...shared.values()].flatMap(({ matcher, receivers }) => (matcher.meaning.isCurrent ? [] : receivers))
    },
  }
}
