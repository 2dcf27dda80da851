/** Clauses about other resources: those that a resource refers to (chains), and those that refer to it (`_has`). */

import { type Fragment, join, or, q, raw } from '../sql/fragment.ts'
import { type ClauseText, neverClause, type SearchClause } from './clause.ts'
import type { ReferenceJoin } from './reference-join.ts'

/** The conditions that the resource at the other end must match. */
export interface ChainEnd {
  readonly conditions: readonly SearchClause[]
  /** Selects the resource keys of that end, where they are few enough to start from. */
  readonly found: Fragment | undefined
  readonly size: number
}

const met = ({ conditions }: ChainEnd, d: string, name: () => string): Fragment =>
  join(
    conditions.map((one) => q` AND ${one.checkSql(d, name)}`),
    '',
  )

const exists = (statement: Fragment): Fragment => q`(SELECT 1 FROM ${statement} LIMIT 1) IS NOT NULL`

/** Matches resources that refer to one which matches the conditions. */
export const chainClause = (named: ClauseText, links: readonly ReferenceJoin[], target: ChainEnd): SearchClause => {
  if (links.length === 0) return neverClause(named)
  const { found, size } = target
  return {
    ...named,
    checkSql: (d, name) =>
      or(
        links.map((link) => {
          const [r, t] = [name(), name()]
          return exists(
            q`ix_ref ${raw(r)} CROSS JOIN ${raw(link.table)} ${raw(t)} WHERE ${raw(r)}.rid = ${raw(d)}.rid AND ${link.reference(r)} AND ${link.toTarget(r, t)} AND ${link.target(t)}${met(target, t, name)}`,
          )
        }),
      ),
    ...(found === undefined
      ? {}
      : {
          sources: links.map((link) => ({
            keysSql: q`SELECT r.rid AS rid FROM (${found}) m CROSS JOIN ${raw(link.table)} t CROSS JOIN ix_ref r WHERE ${link.target('t')} AND t.rid = m.rid AND ${link.reference('r')} AND ${link.toReference('r', 't')}`,
            isOrdered: false,
          })),
          size,
        }),
  }
}

/** Matches resources that one which matches the conditions refers to. */
export const hasClause = (named: ClauseText, links: readonly ReferenceJoin[], source: ChainEnd): SearchClause => {
  if (links.length === 0) return neverClause(named)
  const { found, size } = source
  return {
    ...named,
    checkSql: (d, name) =>
      or(
        links.map((link) => {
          const [r, t] = [name(), name()]
          return exists(
            q`${raw(link.table)} ${raw(t)} CROSS JOIN ix_ref ${raw(r)} WHERE ${raw(t)}.rid = ${raw(d)}.rid AND ${link.target(t)} AND ${link.reference(r)} AND ${link.toReference(r, t)}${met(source, r, name)}`,
          )
        }),
      ),
    ...(found === undefined
      ? {}
      : {
          sources: links.map((link) => ({
            keysSql: q`SELECT t.rid AS rid FROM (${found}) m CROSS JOIN ix_ref r CROSS JOIN ${raw(link.table)} t WHERE r.rid = m.rid AND ${link.reference('r')} AND ${link.toTarget('r', 't')} AND ${link.target('t')}`,
            isOrdered: false,
          })),
          size,
        }),
  }
}
