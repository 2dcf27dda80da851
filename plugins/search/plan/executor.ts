/** Runs planned searches: reads pages of matches, counts them, and reads resources by their keys. */
import type { MaybePromise, SqlParam } from '../../database/service.ts'
import {
  type RowSource,
  StoredVersion,
  type TypeCodes,
  type VersionRow,
  type VersionStore,
} from '../../storage/service.ts'
import { createAliases, matchesSql, meets, type TypeConditions } from '../query/clause-sql.ts'
import type { PagePosition } from '../query/page-token.ts'
import type { Plan } from '../query/plan-contract.ts'
import type { SortKey } from '../query/sort-order.ts'
import { type Fragment, isIn, join, q, raw } from '../sql/fragment.ts'
import type { StatementCache } from '../sql/statements.ts'
import type { Deadline } from './deadline.ts'
import { createFindNearest, type NextRows, type SearchMatch } from './nearest-matches.ts'
import { NEAR_ROWS, nextTo } from './plan.ts'
import { isLong, type PlanRefiner } from './refine.ts'

/**
 * Up to so many rows of a driving clause are read on the main thread, which takes a millisecond; more are read in a
 * worker thread.
 */
const SMALL = 500

const COLUMNS = raw('r.rid, r.type, r.id, r.ver, r.upd, r.flags, r.body')

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
  const toVersion = (row: VersionRow): StoredVersion => {
    const version = new StoredVersion(types.name(row.type), row)
    store?.putVersion(version)
    return version
  }
  const heldOrVersion = (row: VersionRow): StoredVersion => store?.getVersion(row.rid, row.ver) ?? toVersion(row)

  const ask = async <R>({ text, params }: Fragment, small: boolean, asking: Deadline): Promise<R[]> =>
    small ? source.all<R>(statements(text), params) : source.longQuery<R>(statements(text), params, asking.signal)
  const all = async <R>(statement: Fragment, small: boolean, asking: Deadline): Promise<R[]> => {
    const { trace } = asking
    if (trace === undefined) return ask(statement, small, asking)
    const started = trace.now()
    const rows = await ask<R>(statement, small, asking)
    trace.note(statement, trace.now() - started, !small)
    return rows
  }

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

  /** SQL for the rows of current resources, unsorted. */
  const byRids = (rids: readonly number[]): Fragment =>
    q`SELECT ${COLUMNS} FROM resource r WHERE ${isIn('r.rid', rids as readonly SqlParam[])} AND (r.flags & 1) = 0`
  const rowsOf = (
    rids: readonly number[],
    asking: Deadline,
    required: readonly TypeConditions[],
  ): Promise<VersionRow[]> => {
    if (required.every(({ conditions }) => conditions.length === 0))
      return all<VersionRow>(byRids(rids), rids.length <= SMALL, asking)
    return all<VersionRow>(q`${byRids(rids)} AND ${meets('r', required)}`, false, asking)
  }
  /** Reads a few resources. Synchronous where the database is. */
  const fetch = (rids: readonly number[]): MaybePromise<VersionRow[]> => {
    const { text, params } = byRids(rids)
    return source.all<VersionRow>(statements(text), params)
  }

  /**
   * Reads the resources with these keys, in the same order. Leaves out those that were deleted since, or that no
   * longer match `required`; that condition is in the same statement, so it applies to exactly the versions that are
   * returned.
   */
  const versions = async (
    rids: readonly number[],
    asking: Deadline,
    required: readonly TypeConditions[] = [],
  ): Promise<readonly StoredVersion[]> => {
    if (rids.length === 0) return []
    const rows = await rowsOf(rids, asking, required)
    const byRid = new Map(rows.map((row) => [row.rid, row]))
    return rids.flatMap((rid) => {
      const row = byRid.get(rid)
      return row === undefined ? [] : [heldOrVersion(row)]
    })
  }

  /** Reads the rows next to `position` for one plan, in the order of resource keys. `rowsOf` runs the statement. */
  const nextRows: NextRows = async (plan, position, limit, direction, asking, rowsOf) => {
    if (!isLong(plan)) return rowsOf(nextTo(plan, position, limit, direction), isSmall(plan))
    // Mostly the newest rows already fill the page.
    const near = direction === 'older' ? await rowsOf(nextTo(plan, position, limit, direction, NEAR_ROWS), false) : []
    if (near.length === limit) return near
    return rowsOf(nextTo(await refined(plan, asking), position, limit, direction), false)
  }

  const nearest = createFindNearest({
    ...{ source, statements, columns: COLUMNS, all, versions, toVersion: heldOrVersion },
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
    version: heldOrVersion,
    /** Makes a version from a row, without looking for it in the cache. */
    unheld: toVersion,
    fetch,
    versions,
    /** Like `versions`, but adds nothing to the cache: for many resources that are read once. Newest first. */
    async passing(
      rids: readonly number[],
      asking: Deadline,
      required: readonly TypeConditions[],
    ): Promise<StoredVersion[]> {
      if (rids.length === 0) return []
      const rows = await rowsOf(rids, asking, required)
      return rows
        .sort((one, other) => other.rid - one.rid)
        .map((row) => store?.getVersion(row.rid, row.ver) ?? new StoredVersion(types.name(row.type), row))
    },
  }
}

export type Executor = ReturnType<typeof createExecutor>
