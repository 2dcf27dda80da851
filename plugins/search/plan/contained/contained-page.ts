/**
 * Pages of a search in contained resources, `_contained=true|both`, which returns the containers or the contained
 * resources. Those whose container the caller may not see are neither returned nor counted.
 * https://hl7.org/fhir/R4/search.html#contained
 */
import type { VersionRow } from '../../../storage/service.ts'
import { CONTAINER_KEY_SQL, containedIndex, containerKeyOf, SPACE_SQL } from '../../index/contained/key-space.ts'
import type { SearchClause } from '../../query/clause.ts'
import { createAliases, matchesSql } from '../../query/clause-sql.ts'
import type { PagePosition } from '../../query/page-token.ts'
import type { Plan } from '../../query/plan-contract.ts'
import { and, type Fragment, join, or, q, raw } from '../../sql/fragment.ts'
import type { Deadline } from '../deadline.ts'
import type { Executor } from '../executor.ts'
import type { SearchMatch } from '../nearest-contract.ts'
import type { Direction } from '../plan.ts'

export interface ContainedSearch {
  /** Plan for contained resources of the type. */
  readonly inside: Plan
  /** Plan for resources of the type itself, for `both`. */
  readonly whole: Plan | undefined
  /** True: returns the containers instead of the contained resources. */
  readonly asContainers: boolean
  /** Conditions on containers, by type. Undefined when access is not restricted. */
  readonly seen: readonly { readonly type: number; readonly conditions: readonly SearchClause[] }[] | undefined
}

/** Selects the keys of all matches: of contained resources, or of their containers. See key-space.ts. */
const numbers = ({ inside, whole, asContainers }: ContainedSearch, pin: number): Fragment => {
  const found = matchesSql(inside, Math.min(containerKeyOf(pin), Number.MAX_SAFE_INTEGER))
  const parts = [
    asContainers
      ? q`SELECT DISTINCT c.rid - (c.rid % ${raw(SPACE_SQL)}) + ${raw(CONTAINER_KEY_SQL)} AS k FROM (${found}) c`
      : q`SELECT c.rid AS k FROM (${found}) c`,
  ]
  if (whole !== undefined)
    parts.push(q`SELECT w.rid * ${raw(SPACE_SQL)} + ${raw(CONTAINER_KEY_SQL)} AS k FROM (${matchesSql(whole, pin)}) w`)
  return join(parts, ' UNION ')
}

const containedRowsOf = (search: ContainedSearch, pin: number): Fragment => {
  const name = createAliases()
  const seen = search.seen?.map(
    ({ type, conditions }) => q`(r.type = ${type} AND ${and(conditions.map((one) => one.checkSql('r', name)))})`,
  )
  const allowed = seen === undefined ? raw('1 = 1') : or(seen)
  return q`(${numbers(search, pin)}) u CROSS JOIN resource r WHERE r.rid = u.k / ${raw(SPACE_SQL)} AND (r.flags & 1) = 0 AND ${allowed}`
}

/**
 * The matches next to `position.rid`, the key of the last match of a page or of its first one. The nearest come
 * first.
 */
export const containedPage = async (
  executor: Executor,
  search: ContainedSearch,
  { snapshotKey, rid }: PagePosition,
  limit: number,
  direction: Direction,
  asking: Deadline,
): Promise<readonly SearchMatch[]> => {
  const [beyond, order] = direction === 'older' ? [raw('<'), raw('DESC')] : [raw('>'), raw('ASC')]
  const rows = await executor.select<VersionRow & { readonly k: number }>(
    q`SELECT r.rid, r.type, r.id, r.ver, r.upd, r.flags, r.body, u.k FROM ${containedRowsOf(search, snapshotKey)} AND u.k ${beyond} ${rid} ORDER BY u.k ${order} LIMIT ${limit}`,
    asking,
  )
  return rows.map(({ k, ...row }) => ({
    version: executor.version(row),
    keys: [],
    sortPosition: k,
    contained: containedIndex(k),
  }))
}

export const countContained = async (
  executor: Executor,
  search: ContainedSearch,
  pin: number,
  asking: Deadline,
): Promise<number> => {
  const [row] = await executor.select<{ readonly n: number }>(
    q`SELECT count(*) AS n FROM ${containedRowsOf(search, pin)}`,
    asking,
  )
  return Number(row?.n ?? 0)
}
