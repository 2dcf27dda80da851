/** Runs a planned search: the matches of one page, their number, what refers to them and what they refer to. */
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
import { createFindNearest, type SearchMatch } from './nearest-matches.ts'
import { type Direction, NEAR_ROWS, nextTo } from './plan.ts'
import { isLong, type PlanRefiner } from './refine.ts'

/** Up to so many rows of a driver are gone through on the main thread (a millisecond); more in a thread of the lane. */
const SMALL = 500

const COLUMNS = raw('r.rid, r.type, r.id, r.ver, r.upd, r.flags, r.body')

/** `store`: versions on pages that are asked for again need not be unpacked again. Undefined where some may be undone. */
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
  /** Every match of some plans, in no order. */
  const union = async (plans: readonly Plan[], pin: number, asking: Deadline): Promise<Fragment> => {
    const parts: Fragment[] = []
    for (const plan of plans) parts.push(matchesSql(await refined(plan, asking), pin))
    return join(parts, ' UNION ALL ')
  }

  const hasFewRows = ({ isEstimate, size }: Plan): boolean => !isEstimate && size <= SMALL
  /** Quick for sure: few rows to go through, or read in order with nothing to check. */
  const isSmall = (plan: Plan): boolean =>
    hasFewRows(plan) || (plan.isOrdered && plan.conditions.length <= (plan.drivingClause === undefined ? 0 : 1))

  /** Rows of current resources, in no order. */
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
  /** A few, at once where the database answers at once. */
  const fetch = (rids: readonly number[]): MaybePromise<VersionRow[]> => {
    const { text, params } = byRids(rids)
    return source.all<VersionRow>(statements(text), params)
  }

  /**
   * Content of what was found before, in the order given. What was deleted since is left out; so is what no longer meets
   * `required`, which is judged and read in one statement: no content is shown of a version that was not judged.
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

  /** What is next to `position` by the order of resources, from one plan; `rowsOf` reads the rows of what is found. */
  const nextRows = async <R>(
    plan: Plan,
    position: PagePosition,
    limit: number,
    direction: Direction,
    asking: Deadline,
    rowsOf: (found: Fragment, small: boolean) => Promise<R[]>,
  ): Promise<R[]> => {
    if (!isLong(plan)) return rowsOf(nextTo(plan, position, limit, direction), isSmall(plan))
    // Mostly a page lies among the newest.
    const near = direction === 'older' ? await rowsOf(nextTo(plan, position, limit, direction, NEAR_ROWS), false) : []
    if (near.length === limit) return near
    return rowsOf(nextTo(await refined(plan, asking), position, limit, direction), false)
  }

  const nearest = createFindNearest({
    ...{ source, statements, columns: COLUMNS, all, versions, toVersion: heldOrVersion },
    ...{ refined, union, nextRows, hasFewRows },
  })

  return {
    /** One page: at most `limit` matches after `position`. Several plans: several types. */
    page: (
      plans: readonly Plan[],
      position: PagePosition,
      keys: readonly SortKey[],
      limit: number,
      asking: Deadline,
    ): Promise<readonly SearchMatch[]> => nearest(plans, position, keys, limit, 'older', asking),
    /** The same before `position`: the nearest first. */
    pageBefore: (
      plans: readonly Plan[],
      position: PagePosition,
      keys: readonly SortKey[],
      limit: number,
      asking: Deadline,
    ): Promise<readonly SearchMatch[]> => nearest(plans, position, keys, limit, 'newer', asking),
    /** Numbers of the matches behind `position`, newest first, with the bytes that each has in the database. */
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
    /** All matches, or `most` of them. */
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
    /** Those of some resources that a plan's conditions let through. */
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
    /** Rows of any statement, read off the main thread. */
    select: <R>(statement: Fragment, asking: Deadline): Promise<R[]> => all<R>(statement, false, asking),
    version: heldOrVersion,
    /** The same of a row whose version is known not to be held. */
    unheld: toVersion,
    fetch,
    versions,
    /** The same without keeping them in memory: of many that are read once. Newest first; what is deleted by now is left out. */
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
