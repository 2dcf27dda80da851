/**
 * Pages of a search in contained resources: `_contained=true|both`, shown as their containers or by themselves. What a
 * container may not show is neither found nor counted. https://hl7.org/fhir/R4/search.html#contained
 */
import type { VersionRow } from '../../../storage/service.ts'
import { HOLDER_SQL, holderRid, placeOf, SPACE_SQL } from '../../index/contained/key-space.ts'
import type { Condition } from '../../query/clause.ts'
import { createNames, matches } from '../../query/clause-sql.ts'
import type { PagePosition } from '../../query/page-token.ts'
import type { Plan } from '../../query/plan-contract.ts'
import { and, type Fragment, join, or, q, raw } from '../../sql/fragment.ts'
import type { Patience } from '../deadline.ts'
import type { Executor, Match } from '../executor.ts'
import type { Direction } from '../plan.ts'

export interface ContainedSearch {
  /** Contained resources of the type. */
  readonly inside: Plan
  /** Resources of the type themselves, for `both`. */
  readonly whole: Plan | undefined
  /** Show the containers, not what they contain. */
  readonly asContainers: boolean
  /** What containers of a type have to meet; undefined when nothing is restricted. */
  readonly seen: readonly { readonly type: number; readonly conditions: readonly Condition[] }[] | undefined
}

/** Numbers of all matches: of contained resources, or of their containers. */
const numbers = ({ inside, whole, asContainers }: ContainedSearch, pin: number): Fragment => {
  const found = matches(inside, Math.min(holderRid(pin), Number.MAX_SAFE_INTEGER))
  const parts = [
    asContainers
      ? q`SELECT DISTINCT c.rid - (c.rid % ${raw(SPACE_SQL)}) + ${raw(HOLDER_SQL)} AS k FROM (${found}) c`
      : q`SELECT c.rid AS k FROM (${found}) c`,
  ]
  if (whole !== undefined)
    parts.push(q`SELECT w.rid * ${raw(SPACE_SQL)} + ${raw(HOLDER_SQL)} AS k FROM (${matches(whole, pin)}) w`)
  return join(parts, ' UNION ')
}

const rowsOf = (search: ContainedSearch, pin: number): Fragment => {
  const name = createNames()
  const seen = search.seen?.map(
    ({ type, conditions }) => q`(r.type = ${type} AND ${and(conditions.map((one) => one.probe('r', name)))})`,
  )
  const allowed = seen === undefined ? raw('1 = 1') : or(seen)
  return q`(${numbers(search, pin)}) u CROSS JOIN resource r WHERE r.rid = u.k / ${raw(SPACE_SQL)} AND (r.flags & 1) = 0 AND ${allowed}`
}

/** Matches next to `position.rid`, the number of the last match shown, or of the first one: the nearest first. */
export const containedPage = async (
  executor: Executor,
  search: ContainedSearch,
  { pin, rid }: PagePosition,
  limit: number,
  direction: Direction,
  asking: Patience,
): Promise<readonly Match[]> => {
  const [beyond, order] = direction === 'older' ? [raw('<'), raw('DESC')] : [raw('>'), raw('ASC')]
  const rows = await executor.select<VersionRow & { readonly k: number }>(
    q`SELECT r.rid, r.type, r.id, r.ver, r.upd, r.flags, r.body, u.k FROM ${rowsOf(search, pin)} AND u.k ${beyond} ${rid} ORDER BY u.k ${order} LIMIT ${limit}`,
    asking,
  )
  return rows.map(({ k, ...row }) => ({ version: executor.version(row), keys: [], place: k, contained: placeOf(k) }))
}

export const countContained = async (
  executor: Executor,
  search: ContainedSearch,
  pin: number,
  asking: Patience,
): Promise<number> => {
  const [row] = await executor.select<{ readonly n: number }>(
    q`SELECT count(*) AS n FROM ${rowsOf(search, pin)}`,
    asking,
  )
  return Number(row?.n ?? 0)
}
