/**
 * One way to find resources in one index table: what the rows must be like. It serves three times: to drive a search,
 * to check a resource that another clause has found, and to judge rows that are in no table (a past version).
 */

import type { IndexEntries } from '../index/index-entries.ts'
import { type Fragment, join, q, raw } from '../sql/fragment.ts'
import type { MatchKey } from './match-key.ts'

export interface IndexLookup {
  readonly table: 'ix_token' | 'ix_ref' | 'ix_date' | 'ix_qty' | 'ix_str' | 'ix_comp'
  /** Condition on the alias `x`. */
  readonly where: Fragment
  /** The same as several ranges of one key each. PostgreSQL goes through the whole table for ranges joined by OR. */
  readonly ranges?: readonly Fragment[]
  /** The rows come in the order of rid: everything before rid in the key is fixed. */
  readonly isOrdered: boolean
  /** A seek by rid is possible; otherwise the whole set is made once and looked into. */
  readonly probeable: boolean
  /** For checking a resource, when it is not the same as for finding. */
  readonly check?: Fragment
  /** Does a row make a hit? */
  readonly matches: (rows: IndexEntries) => boolean
  /** A resource that has none of them makes no hit. Undefined where no such list can be given. */
  readonly keys?: readonly MatchKey[]
}

/** True for resources `d` that have a row. A scalar subquery: no planner turns it into a join in another order. */
export const existsSql = ({ table, where, check, probeable }: IndexLookup, d: string): Fragment =>
  probeable
    ? q`(SELECT 1 FROM ${raw(table)} x WHERE ${check ?? where} AND x.rid = ${raw(d)}.rid LIMIT 1) IS NOT NULL`
    : q`${raw(d)}.rid IN (SELECT x.rid FROM ${raw(table)} x WHERE ${where})`

/** All rids, perhaps several times. */
export const keysSql = ({ table, where, ranges = [where] }: IndexLookup): Fragment =>
  join(
    ranges.map((range) => q`SELECT x.rid AS rid FROM ${raw(table)} x WHERE ${range}`),
    ' UNION ALL ',
  )

/** Runs through the rows of a flat list. */
export const someRow = (list: readonly unknown[], width: number, test: (at: number) => boolean): boolean => {
  for (let at = 0; at < list.length; at += width) if (test(at)) return true
  return false
}
