/**
 * A condition on the rows of one index table. It has three uses: to select the resources from which a search starts,
 * to check a resource that another clause has selected, and to check rows in memory, for example of a past version.
 */

import type { IndexEntries } from '../index/index-entries.ts'
import { type Fragment, q, raw, unionAll } from '../sql/fragment.ts'
import type { MatchKey } from './match-key.ts'

export interface IndexLookup {
  readonly table: 'ix_token' | 'ix_ref' | 'ix_date' | 'ix_qty' | 'ix_str' | 'ix_comp'
  /** The condition, on rows of the alias `x`. */
  readonly where: Fragment
  /**
   * The same condition as a list of ranges, each on one stretch of the key. PostgreSQL would scan the whole table for
   * ranges joined by OR.
   */
  readonly ranges?: readonly Fragment[]
  /**
   * True when rows come in the order of their resource keys, because `where` fixes all columns of the key before
   * `rid`.
   */
  readonly isOrdered: boolean
  /**
   * True when a resource can be checked by a seek with its key. Otherwise the whole result is computed once and
   * searched.
   */
  readonly probeable: boolean
  /** The condition for checking a resource, where it differs from `where`. */
  readonly check?: Fragment
  /** Checks rows in memory. */
  readonly matches: (rows: IndexEntries) => boolean
  /** Every match has at least one of these keys. Undefined where no such list exists. */
  readonly keys?: readonly MatchKey[]
}

/**
 * True for resources `d` that have a matching row. A scalar subquery, because planners would turn EXISTS into a join
 * and choose its order.
 */
export const existsSql = ({ table, where, check, probeable }: IndexLookup, d: string): Fragment =>
  probeable
    ? q`(SELECT 1 FROM ${raw(table)} x WHERE ${check ?? where} AND x.rid = ${raw(d)}.rid LIMIT 1) IS NOT NULL`
    : q`${raw(d)}.rid IN (SELECT x.rid FROM ${raw(table)} x WHERE ${where})`

/** Selects the resource keys of all matches, possibly with repeats. */
export const keysSql = ({ table, where, ranges = [where] }: IndexLookup): Fragment =>
  unionAll(ranges.map((range) => q`SELECT x.rid AS rid FROM ${raw(table)} x WHERE ${range}`))

/** True when `test` returns true for the offset of one row of a flat list. */
export const someRow = (list: readonly unknown[], width: number, test: (at: number) => boolean): boolean => {
  for (let at = 0; at < list.length; at += width) if (test(at)) return true
  return false
}
