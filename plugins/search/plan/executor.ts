/** Runs planned searches: reads pages of matches, counts them, and reads resources by their keys. */
import type { RowSource, TypeCodes, VersionStore } from '../../storage/service.ts'
import { createAliases, matchesSql } from '../query/clause-sql.ts'
import type { PagePosition } from '../query/page-token.ts'
import type { Plan } from '../query/plan-contract.ts'
import type { SortKey } from '../query/sort-order.ts'
import { type Fragment, isIn, join, q } from '../sql/fragment.ts'
import type { StatementCache } from '../sql/statements.ts'
import type { Deadline } from './deadline.ts'
import type { NextRows, SearchMatch } from './nearest-contract.ts'
import { createFindNearest } from './nearest-matches.ts'
import { NEAR_ROWS, nextTo } from './plan.ts'
import { isLong, type PlanRefiner } from './refine.ts'
import { createRunStatement, SMALL } from './run-statement.ts'
import { COLUMNS, createVersionReader } from './version-reader.ts'

/**
 * `store`: caches versions, so that a repeated page need not decompress them again. Undefined inside a transaction,
 * which may be rolled back.
 */
export const createExecutor = (
  source: RowSource,
  types: TypeCodes,
  statements: StatementCache,
  store: Pick<VersionStore, 'getVersion' | 'putVersion'> | undefined,
  refine: PlanRefiner,
) => {
  const all = createRunStatement(source, statements)
  const reader = createVersionReader({ source, types, statements, store, run: all })

  const refined = (plan: Plan, asking: Deadline, isSorted = false): Promise<Plan> =>
    refine(plan, (statement) => all<Record<string, number>>(statement, false, asking), isSorted)
  /** SQL that selects all matches of some plans, unsorted. */
  const union = async (plans: readonly Plan[], pin: number, asking: Deadline): Promise<Fragment> => {
    const parts: Fragment[] = []
    for (const plan of plans) parts.push(matchesSql(await refined(plan, asking), pin))
    return join(parts, ' UNION ALL ')
  }

  const hasFewRows = ({ isEstimate, size }: Plan): boolean => !isEstimate && size <= SMALL
  /** True when a statement is certainly fast: it reads few rows, or reads in order without checks. */
  const isSmall = (plan: Plan): boolean =>
    hasFewRows(plan) || (plan.isOrdered && plan.conditions.length <= (plan.drivingClause === undefined ? 0 : 1))

  /** Reads the rows next to `position` for one plan, in the order of resource keys. `rowsOf` runs the statement. */
  const nextRows: NextRows = async (plan, position, limit, direction, asking, rowsOf) => {
    if (!isLong(plan)) return rowsOf(nextTo(plan, position, limit, direction), isSmall(plan))
    // Mostly the newest rows already fill the page.
    const near = direction === 'older' ? await rowsOf(nextTo(plan, position, limit, direction, NEAR_ROWS), false) : []
    if (near.length === limit) return near
    return rowsOf(nextTo(await refined(plan, asking), position, limit, direction), false)
  }

  const nearest = createFindNearest({
    ...{ source, statements, columns: COLUMNS, all, versions: reader.versions, toVersion: reader.version },
    ...{ refined, union, nextRows, hasFewRows },
  })

  return {
    /** A page of at most `limit` matches after `position`. With several plans, of several types. */
    page: (
      plans: readonly Plan[],
      position: PagePosition,
      keys: readonly SortKey[],
      limit: number,
      asking: Deadline,
    ): Promise<readonly SearchMatch[]> => nearest(plans, position, keys, limit, 'older', asking),
    /** The matches before `position`, nearest first. */
    pageBefore: (
      plans: readonly Plan[],
      position: PagePosition,
      keys: readonly SortKey[],
      limit: number,
      asking: Deadline,
    ): Promise<readonly SearchMatch[]> => nearest(plans, position, keys, limit, 'newer', asking),
    /** Resource keys of the matches after `position`, newest first, with the size of each in the database, in bytes. */
    places: (
      plan: Plan,
      position: PagePosition,
      limit: number,
      asking: Deadline,
    ): Promise<readonly { readonly rid: number; readonly bytes: number }[]> =>
      nextRows(plan, position, limit, 'older', asking, (found, small) =>
        all(
          q`SELECT r.rid AS rid, coalesce(length(r.body), 0) AS bytes FROM (${found}) k CROSS JOIN resource r WHERE r.rid = k.rid AND (r.flags & 1) = 0 ORDER BY k.rid DESC`,
          small,
          asking,
        ),
      ),
    /** The number of matches, or `most` if there are more. */
    async count(plans: readonly Plan[], pin: number, most: number | undefined, asking: Deadline): Promise<number> {
      const set = await union(plans, pin, asking)
      const limited = most === undefined ? set : q`SELECT rid FROM (${set}) l LIMIT ${most}`
      const [row] = await all<{ n: number }>(
        q`SELECT count(*) AS n FROM (${limited}) c`,
        plans.length === 1 && isSmall(plans[0] as Plan),
        asking,
      )
      return Number(row?.n ?? 0)
    },
    /** Returns those of the resource keys that match the conditions of a plan. */
    async filter(
      plan: Pick<Plan, 'type' | 'conditions'>,
      rids: readonly number[],
      asking: Deadline,
    ): Promise<readonly number[]> {
      const name = createAliases()
      const checks = join(
        plan.conditions.map((one) => q` AND ${one.checkSql('d', name)}`),
        '',
      )
      const rows = await all<{ rid: number }>(
        q`SELECT d.rid AS rid FROM ix_res d WHERE d.type = ${plan.type} AND ${isIn('d.rid', rids)}${checks}`,
        false,
        asking,
      )
      return rows.map(({ rid }) => rid)
    },
    matches: union,
    /** Runs any statement off the main thread. */
    select: <R>(statement: Fragment, asking: Deadline): Promise<R[]> => all<R>(statement, false, asking),
    ...reader,
  }
}

export type Executor = ReturnType<typeof createExecutor>
