/**
 * One clause of a search: how it selects resources, how it checks one in SQL, and how it checks a version in memory.
 */

import type { IndexEntries } from '../index/index-entries.ts'
import { and, type Fragment, isIn, join, or, q, raw } from '../sql/fragment.ts'
import { existsSql, type IndexLookup, keysSql } from './index-lookup.ts'
import { idKey, type MatchKey, mostSelective } from './match-key.ts'

/** A version that is checked in memory, without the index. */
export interface ClauseSubject {
  readonly type: string
  readonly id: string
  /** Microseconds since the epoch. */
  readonly versionTime: number
  readonly rows: IndexEntries
}

/** A statement that selects `rid`, possibly with repeats. */
export interface KeySource {
  readonly keysSql: Fragment
  /** True when it gives each key once, in ascending or descending order as it is read. */
  readonly isOrdered: boolean
}

export interface SearchClause {
  /** The clause as the client wrote it: `name:exact=Smith`. */
  readonly text: string
  /** How the server understood it, for `_explain`. */
  readonly description: string
  /** SQL that checks a resource, a row of alias `d`. `name` returns an unused alias. */
  readonly checkSql: (d: string, name: () => string) => Fragment
  /** Statements that together select all matches. Undefined when a search cannot start from this clause. */
  readonly sources?: readonly KeySource[]
  /** Number of rows of the sources, where it is known and need not be counted. */
  readonly size?: number
  /** Checks a version in memory. Undefined when the check needs the index. */
  readonly matches?: (subject: ClauseSubject) => boolean
  /**
   * Only where `matches` is undefined: true when the parts that can be checked in memory already show a match; false
   * leaves it open.
   */
  readonly certain?: (subject: ClauseSubject) => boolean
  /** Every match has at least one of these keys. Undefined where no such list exists. */
  readonly keys?: readonly MatchKey[]
  /** Set when the clause is a conjunction: the search plans its parts separately. */
  readonly all?: readonly SearchClause[]
}

export interface ClauseText {
  readonly text: string
  readonly description: string
}

/** The keys of an alternative: those of all parts, or none when one part has none. */
const keysOfAny = (parts: readonly { readonly keys?: readonly MatchKey[] }[]): Pick<SearchClause, 'keys'> =>
  parts.every(({ keys }) => keys !== undefined) ? { keys: parts.flatMap(({ keys = [] }) => keys) } : {}

type Test = NonNullable<SearchClause['matches']>

// Tests are made apart from their clauses: matchers are stored by the thousand, and a closure retains all of its scope.
const oneLookup =
  (test: IndexLookup['matches']): Test =>
  ({ rows }) =>
    test(rows)
const anyLookup =
  (tests: readonly IndexLookup['matches'][]): Test =>
  ({ rows }) =>
    tests.some((test) => test(rows))
const negated =
  (test: Test): Test =>
  (subject) =>
    !test(subject)
const anyOf =
  (tests: readonly Test[]): Test =>
  (subject) =>
    tests.some((test) => test(subject))
const allOf =
  (tests: readonly Test[]): Test =>
  (subject) =>
    tests.every((test) => test(subject))

/** Matches when one of the lookups does. */
export const lookupClause = (named: ClauseText, lookups: readonly IndexLookup[]): SearchClause => ({
  ...named,
  ...keysOfAny(lookups),
  checkSql: (d) => or(lookups.map((lookup) => existsSql(lookup, d))),
  sources: lookups.map((lookup) => ({ keysSql: keysSql(lookup), isOrdered: lookup.isOrdered })),
  matches:
    lookups.length === 1
      ? oneLookup((lookups[0] as IndexLookup).matches)
      : anyLookup(lookups.map(({ matches }) => matches)),
})

/** Matches when the other clause does not, so also resources without any value. */
export const notClause = (named: ClauseText, { checkSql: inner, matches }: SearchClause): SearchClause => ({
  ...named,
  checkSql: (d, name) => q`NOT (${inner(d, name)})`,
  ...(matches === undefined ? {} : { matches: negated(matches) }),
})

export const anyClause = (named: ClauseText, conditions: readonly SearchClause[]): SearchClause => {
  const sources = conditions.map((one) => one.sources)
  const tests = conditions.map(({ matches }) => matches)
  const deciding = conditions.flatMap(({ matches, certain = matches }) => certain ?? [])
  const any = anyOf(deciding)
  return {
    ...named,
    ...keysOfAny(conditions),
    checkSql: (d, name) => or(conditions.map((one) => one.checkSql(d, name))),
    ...(sources.every((one) => one !== undefined) ? { sources: sources.flat() } : {}),
    ...(conditions.some(({ size }) => size !== undefined)
      ? { size: conditions.reduce((sum, { size }) => sum + (size ?? 0), 0) }
      : {}),
    ...(tests.every((one) => one !== undefined) ? { matches: any } : deciding.length > 0 ? { certain: any } : {}),
  }
}

export const allClause = (named: ClauseText, conditions: readonly SearchClause[]): SearchClause => {
  const parts = conditions.flatMap((one) => one.all ?? [one])
  const [first, ...others] = [...parts].sort(
    (one, other) => Number(other.sources !== undefined) - Number(one.sources !== undefined),
  ) as [SearchClause, ...SearchClause[]]
  const tests = parts.map(({ matches }) => matches)
  let at = 0
  // Inside another clause there is no planner, so the SQL starts from the first part that has sources.
  const name = (): string => {
    at += 1
    return `p${at}`
  }
  const rest = (d: string): Fragment => and(others.map((one) => one.checkSql(d, name)))
  const keys = mostSelective(parts.flatMap((one) => (one.keys === undefined ? [] : [one.keys])))
  return {
    ...named,
    ...(keys === undefined ? {} : { keys }),
    checkSql: (d, name) => q`(${and(parts.map((one) => one.checkSql(d, name)))})`,
    ...(first.sources === undefined
      ? {}
      : {
          sources: first.sources.map(({ keysSql, isOrdered }) => ({
            keysSql: others.length === 0 ? keysSql : q`SELECT p.rid AS rid FROM (${keysSql}) p WHERE ${rest('p')}`,
            isOrdered,
          })),
          ...(first.size === undefined ? {} : { size: first.size }),
        }),
    ...(tests.every((one) => one !== undefined) ? { matches: allOf(tests) } : {}),
    all: parts,
  }
}

export const neverClause = (named: ClauseText): SearchClause => ({
  ...named,
  checkSql: () => raw('1 = 0'),
  sources: [{ keysSql: raw('SELECT r.rid AS rid FROM resource r WHERE 1 = 0'), isOrdered: true }],
  matches: () => false,
  keys: [],
})

/** `hash`: the hash function of column values. */
export const idClause = (
  named: ClauseText,
  type: number,
  ids: readonly string[],
  hash: (id: string) => number,
): SearchClause => ({
  ...named,
  keys: ids.map((id) => idKey(hash(id))),
  checkSql: (d) => q`(SELECT 1 FROM resource x WHERE x.rid = ${raw(d)}.rid AND ${isIn('x.id', ids)}) IS NOT NULL`,
  sources: [
    {
      keysSql: q`SELECT x.rid AS rid FROM resource x WHERE x.type = ${type} AND ${isIn('x.id', ids)} AND (x.flags & 1) = 0`,
      isOrdered: ids.length === 1,
    },
  ],
  matches: ({ id }) => ids.includes(id),
})

/** `where`: a condition on `x.upd`, microseconds since the epoch. */
export const updatedClause = (
  named: ClauseText,
  type: number,
  where: Fragment,
  test: (stamp: number) => boolean,
): SearchClause => ({
  ...named,
  checkSql: (d) => q`(SELECT 1 FROM resource x WHERE x.rid = ${raw(d)}.rid AND ${where}) IS NOT NULL`,
  sources: [
    {
      keysSql: q`SELECT x.rid AS rid FROM resource x WHERE x.type = ${type} AND ${where} AND (x.flags & 1) = 0`,
      isOrdered: false,
    },
  ],
  matches: ({ versionTime }) => test(versionTime),
})

/** Tests whether the resource has a value, or has none, by the bits of its row. */
export const missingClause = (
  named: ClauseText,
  type: number,
  bits: readonly { mask: number; bit: number }[],
  present: boolean,
  test: (rows: IndexEntries) => boolean,
): SearchClause => {
  const where = (alias: string): Fragment =>
    q`(${join(
      bits.map(({ mask, bit }) => q`(${raw(`${alias}.m${mask}`)} & ${2 ** bit}) != 0`),
      ' OR ',
    )})`
  return {
    ...named,
    checkSql: (d, name) => {
      const i = name()
      const found = q`(SELECT 1 FROM ix_res ${raw(i)} WHERE ${raw(i)}.type = ${type} AND ${raw(i)}.rid = ${raw(d)}.rid AND ${where(i)}) IS NOT NULL`
      return present ? found : q`NOT (${found})`
    },
    matches: ({ rows }) => test(rows) === present,
  }
}
