/** One clause of a search at work: how it finds resources, how it checks one, and how it judges a version in memory. */

import type { IndexEntries } from '../index/index-entries.ts'
import { and, type Fragment, isIn, join, or, q, raw } from '../sql/fragment.ts'
import { existsSql, type IndexLookup, keysSql } from './index-lookup.ts'
import { idKey, type MatchKey, mostTelling } from './match-key.ts'

/** A version judged without the index. */
export interface ClauseSubject {
  readonly type: string
  readonly id: string
  /** Microseconds. */
  readonly versionTime: number
  readonly rows: IndexEntries
}

/** A statement that selects `rid`, perhaps several times. */
export interface KeySource {
  readonly keysSql: Fragment
  /** Each rid once, in order when read along its key. */
  readonly isOrdered: boolean
}

export interface SearchClause {
  /** As it was asked: `name:exact=Smith`. */
  readonly text: string
  /** What was understood, for `_explain`. */
  readonly description: string
  /** Fresh alias names come from `name`. */
  readonly checkSql: (d: string, name: () => string) => Fragment
  /** Together they find all; undefined when the clause cannot be where a search starts. */
  readonly sources?: readonly KeySource[]
  /** Known size of the sources, when counting them would not tell it. */
  readonly size?: number
  /** Undefined when it takes the index to tell. */
  readonly matches?: (subject: ClauseSubject) => boolean
  /** Where `test` is undefined: true when the parts that can be tested decide that it holds; false decides nothing. */
  readonly certain?: (subject: ClauseSubject) => boolean
  /** What meets it has one of these keys. Undefined where no such list can be given. */
  readonly keys?: readonly MatchKey[]
  /** It is all of these together: a search takes them apart. */
  readonly all?: readonly SearchClause[]
}

export interface ClauseText {
  readonly text: string
  readonly description: string
}

/** The keys of alternatives: none where one of them has none. */
const keysOfAny = (parts: readonly { readonly keys?: readonly MatchKey[] }[]): Pick<SearchClause, 'keys'> =>
  parts.every(({ keys }) => keys !== undefined) ? { keys: parts.flatMap(({ keys = [] }) => keys) } : {}

/** Any of the lookups hits. */
export const lookupClause = (named: ClauseText, lookups: readonly IndexLookup[]): SearchClause => ({
  ...named,
  ...keysOfAny(lookups),
  checkSql: (d) => or(lookups.map((lookup) => existsSql(lookup, d))),
  sources: lookups.map((lookup) => ({ keysSql: keysSql(lookup), isOrdered: lookup.isOrdered })),
  matches: ({ rows }) => lookups.some(({ matches }) => matches(rows)),
})

/** None of them hits: also where there is no value at all. */
export const notClause = (named: ClauseText, { checkSql: inner, matches }: SearchClause): SearchClause => ({
  ...named,
  checkSql: (d, name) => q`NOT (${inner(d, name)})`,
  ...(matches === undefined ? {} : { matches: (subject) => !matches(subject) }),
})

export const anyClause = (named: ClauseText, conditions: readonly SearchClause[]): SearchClause => {
  const sources = conditions.map((one) => one.sources)
  const tests = conditions.map(({ matches }) => matches)
  const deciding = conditions.flatMap(({ matches, certain = matches }) => certain ?? [])
  const any = (subject: ClauseSubject): boolean => deciding.some((decides) => decides(subject))
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
  // Inside another condition there is no planner: it starts from the first part that it can start from.
  const name = (): string => {
    at += 1
    return `p${at}`
  }
  const rest = (d: string): Fragment => and(others.map((one) => one.checkSql(d, name)))
  const keys = mostTelling(parts.flatMap((one) => (one.keys === undefined ? [] : [one.keys])))
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
    ...(tests.every((one) => one !== undefined)
      ? { matches: (subject: ClauseSubject) => tests.every((test) => test(subject)) }
      : {}),
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

/** `hash` is that of values of columns. */
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

/** `where` is a condition on `x.upd`. */
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

/** The resource has (or lacks) a value: bits of its row. */
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
