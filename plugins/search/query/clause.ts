/** One clause of a search at work: how it finds resources, how it checks one, and how it judges a version in memory. */

import type { Rows } from '../index/index-entries.ts'
import { and, type Fragment, isIn, join, or, q, raw } from '../sql/fragment.ts'
import { type Lookup, probe, rids } from './lookup.ts'
import { idKey, type MatchKey, mostTelling } from './match-key.ts'

/** A version judged without the index. */
export interface Subject {
  readonly type: string
  readonly id: string
  /** Microseconds. */
  readonly stamp: number
  readonly rows: Rows
}

/** A statement that selects `rid`, perhaps several times. */
export interface Source {
  readonly rids: Fragment
  /** Each rid once, in order when read along its key. */
  readonly ordered: boolean
}

export interface Condition {
  /** As it was asked: `name:exact=Smith`. */
  readonly text: string
  /** What was understood, for `_explain`. */
  readonly understood: string
  /** Fresh alias names come from `name`. */
  readonly probe: (d: string, name: () => string) => Fragment
  /** Together they find all; undefined when the clause cannot be where a search starts. */
  readonly sources?: readonly Source[]
  /** Known size of the sources, when counting them would not tell it. */
  readonly size?: number
  /** Undefined when it takes the index to tell. */
  readonly test?: (subject: Subject) => boolean
  /** Where `test` is undefined: true when the parts that can be tested decide that it holds; false decides nothing. */
  readonly certain?: (subject: Subject) => boolean
  /** What meets it has one of these keys. Undefined where no such list can be given. */
  readonly keys?: readonly MatchKey[]
  /** It is all of these together: a search takes them apart. */
  readonly all?: readonly Condition[]
}

export interface Named {
  readonly text: string
  readonly understood: string
}

/** The keys of alternatives: none where one of them has none. */
const keysOfAny = (parts: readonly { readonly keys?: readonly MatchKey[] }[]): Pick<Condition, 'keys'> =>
  parts.every(({ keys }) => keys !== undefined) ? { keys: parts.flatMap(({ keys = [] }) => keys) } : {}

/** Any of the lookups hits. */
export const lookupCondition = (named: Named, lookups: readonly Lookup[]): Condition => ({
  ...named,
  ...keysOfAny(lookups),
  probe: (d) => or(lookups.map((lookup) => probe(lookup, d))),
  sources: lookups.map((lookup) => ({ rids: rids(lookup), ordered: lookup.ordered })),
  test: ({ rows }) => lookups.some(({ test }) => test(rows)),
})

/** None of them hits: also where there is no value at all. */
export const notCondition = (named: Named, { probe: inner, test }: Condition): Condition => ({
  ...named,
  probe: (d, name) => q`NOT (${inner(d, name)})`,
  ...(test === undefined ? {} : { test: (subject) => !test(subject) }),
})

export const anyCondition = (named: Named, conditions: readonly Condition[]): Condition => {
  const sources = conditions.map((one) => one.sources)
  const tests = conditions.map(({ test }) => test)
  const deciding = conditions.flatMap(({ test, certain = test }) => certain ?? [])
  const any = (subject: Subject): boolean => deciding.some((decides) => decides(subject))
  return {
    ...named,
    ...keysOfAny(conditions),
    probe: (d, name) => or(conditions.map((one) => one.probe(d, name))),
    ...(sources.every((one) => one !== undefined) ? { sources: sources.flat() } : {}),
    ...(conditions.some(({ size }) => size !== undefined)
      ? { size: conditions.reduce((sum, { size }) => sum + (size ?? 0), 0) }
      : {}),
    ...(tests.every((one) => one !== undefined) ? { test: any } : deciding.length > 0 ? { certain: any } : {}),
  }
}

export const allCondition = (named: Named, conditions: readonly Condition[]): Condition => {
  const parts = conditions.flatMap((one) => one.all ?? [one])
  const [first, ...others] = [...parts].sort(
    (one, other) => Number(other.sources !== undefined) - Number(one.sources !== undefined),
  ) as [Condition, ...Condition[]]
  const tests = parts.map(({ test }) => test)
  let at = 0
  // Inside another condition there is no planner: it starts from the first part that it can start from.
  const name = (): string => {
    at += 1
    return `p${at}`
  }
  const rest = (d: string): Fragment => and(others.map((one) => one.probe(d, name)))
  const keys = mostTelling(parts.flatMap((one) => (one.keys === undefined ? [] : [one.keys])))
  return {
    ...named,
    ...(keys === undefined ? {} : { keys }),
    probe: (d, name) => q`(${and(parts.map((one) => one.probe(d, name)))})`,
    ...(first.sources === undefined
      ? {}
      : {
          sources: first.sources.map(({ rids, ordered }) => ({
            rids: others.length === 0 ? rids : q`SELECT p.rid AS rid FROM (${rids}) p WHERE ${rest('p')}`,
            ordered,
          })),
          ...(first.size === undefined ? {} : { size: first.size }),
        }),
    ...(tests.every((one) => one !== undefined)
      ? { test: (subject: Subject) => tests.every((test) => test(subject)) }
      : {}),
    all: parts,
  }
}

export const neverCondition = (named: Named): Condition => ({
  ...named,
  probe: () => raw('1 = 0'),
  sources: [{ rids: raw('SELECT r.rid AS rid FROM resource r WHERE 1 = 0'), ordered: true }],
  test: () => false,
  keys: [],
})

/** `hash` is that of values of columns. */
export const idCondition = (
  named: Named,
  type: number,
  ids: readonly string[],
  hash: (id: string) => number,
): Condition => ({
  ...named,
  keys: ids.map((id) => idKey(hash(id))),
  probe: (d) => q`(SELECT 1 FROM resource x WHERE x.rid = ${raw(d)}.rid AND ${isIn('x.id', ids)}) IS NOT NULL`,
  sources: [
    {
      rids: q`SELECT x.rid AS rid FROM resource x WHERE x.type = ${type} AND ${isIn('x.id', ids)} AND (x.flags & 1) = 0`,
      ordered: ids.length === 1,
    },
  ],
  test: ({ id }) => ids.includes(id),
})

/** `where` is a condition on `x.upd`. */
export const updatedCondition = (
  named: Named,
  type: number,
  where: Fragment,
  test: (stamp: number) => boolean,
): Condition => ({
  ...named,
  probe: (d) => q`(SELECT 1 FROM resource x WHERE x.rid = ${raw(d)}.rid AND ${where}) IS NOT NULL`,
  sources: [
    {
      rids: q`SELECT x.rid AS rid FROM resource x WHERE x.type = ${type} AND ${where} AND (x.flags & 1) = 0`,
      ordered: false,
    },
  ],
  test: ({ stamp }) => test(stamp),
})

/** The resource has (or lacks) a value: bits of its row. */
export const presenceCondition = (
  named: Named,
  type: number,
  bits: readonly { mask: number; bit: number }[],
  present: boolean,
  test: (rows: Rows) => boolean,
): Condition => {
  const where = (alias: string): Fragment =>
    q`(${join(
      bits.map(({ mask, bit }) => q`(${raw(`${alias}.m${mask}`)} & ${2 ** bit}) != 0`),
      ' OR ',
    )})`
  return {
    ...named,
    probe: (d, name) => {
      const i = name()
      const found = q`(SELECT 1 FROM ix_res ${raw(i)} WHERE ${raw(i)}.type = ${type} AND ${raw(i)}.rid = ${raw(d)}.rid AND ${where(i)}) IS NOT NULL`
      return present ? found : q`NOT (${found})`
    },
    test: ({ rows }) => test(rows) === present,
  }
}
