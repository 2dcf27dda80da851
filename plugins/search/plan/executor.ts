/** Runs a planned search: the matches of one page, their number, what refers to them and what they refer to. */
import type { Eventually, Param } from '../../database/service.ts'
import { type Source, type Store, StoredVersion, type TypeCodes, type VersionRow } from '../../storage/service.ts'
import { createNames, matches } from '../query/clause-sql.ts'
import { areWhole, wholeKeys } from '../query/page-keys.ts'
import type { PagePosition } from '../query/page-token.ts'
import type { Plan } from '../query/plan-contract.ts'
import type { SortKey } from '../query/sort-order.ts'
import { type Fragment, isIn, join, q, raw } from '../sql/fragment.ts'
import type { Statements } from '../sql/statements.ts'
import type { Patience } from './deadline.ts'
import { along, type Direction, NEAR, nextTo } from './plan.ts'
import { isLong, type Refiner } from './refine.ts'
import { beyond, orderBy, selected } from './sort.ts'
import { placeAll, sortInMemory } from './sort-in-memory.ts'

/** Up to so many rows of a driver are gone through on the main thread (a millisecond); more in a thread of the lane. */
const SMALL = 500

export interface Match {
  readonly version: StoredVersion
  readonly keys: readonly (string | number)[]
  /** Its number in the order of the page, when that is not its rid. */
  readonly place?: number
  /** Place in `contained` of its version, when that is what was found. */
  readonly contained?: number | undefined
}

const COLUMNS = raw('r.rid, r.type, r.id, r.ver, r.upd, r.flags, r.body')

/** `store`: versions on pages that are asked for again need not be unpacked again. Undefined where some may be undone. */
export const createExecutor = (
  source: Source,
  types: TypeCodes,
  statements: Statements,
  store: Pick<Store, 'held' | 'keep'> | undefined,
  refine: Refiner,
) => {
  const toVersion = (row: VersionRow): StoredVersion => {
    const version = new StoredVersion(types.name(row.type), row)
    store?.keep(version)
    return version
  }
  const heldOrVersion = (row: VersionRow): StoredVersion => store?.held(row.rid, row.ver) ?? toVersion(row)

  const ask = async <R>({ text, params }: Fragment, small: boolean, asking: Patience): Promise<R[]> =>
    small ? source.all<R>(statements(text), params) : source.slow<R>(statements(text), params, asking.signal)
  const all = async <R>(statement: Fragment, small: boolean, asking: Patience): Promise<R[]> => {
    const { trace } = asking
    if (trace === undefined) return ask(statement, small, asking)
    const started = trace.now()
    const rows = await ask<R>(statement, small, asking)
    trace.note(statement, trace.now() - started, !small)
    return rows
  }

  const refined = (plan: Plan, asking: Patience): Promise<Plan> =>
    refine(plan, (statement) => all<Record<string, number>>(statement, false, asking))
  /** Every match of some plans, in no order. */
  const union = async (plans: readonly Plan[], pin: number, asking: Patience): Promise<Fragment> => {
    const parts: Fragment[] = []
    for (const plan of plans) parts.push(matches(await refined(plan, asking), pin))
    return join(parts, ' UNION ALL ')
  }

  /** Quick for sure: few rows to go through, or read in order with nothing to check. */
  const isSmall = ({ driver, many, size, ordered, conditions }: Plan): boolean =>
    (!many && size <= SMALL) || (ordered && conditions.length <= (driver === undefined ? 0 : 1))

  /** Rows of current resources, in no order. */
  const byRids = (rids: readonly number[]): Fragment =>
    q`SELECT ${COLUMNS} FROM resource r WHERE ${isIn('r.rid', rids as readonly Param[])} AND (r.flags & 1) = 0`
  /** A few, at once where the database answers at once. */
  const fetch = (rids: readonly number[]): Eventually<VersionRow[]> => {
    const { text, params } = byRids(rids)
    return source.all<VersionRow>(statements(text), params)
  }

  const versions = async (rids: readonly number[], asking: Patience): Promise<readonly StoredVersion[]> => {
    if (rids.length === 0) return []
    const rows = await all<VersionRow>(byRids(rids), rids.length <= SMALL, asking)
    const byRid = new Map(rows.map((row) => [row.rid, row]))
    return rids.flatMap((rid) => {
      const row = byRid.get(rid)
      return row === undefined ? [] : [heldOrVersion(row)]
    })
  }

  /** The values behind which a page begins, where its link holds only the beginning of some. */
  const valuesNow = async (
    { rid, keys: held }: PagePosition,
    keys: readonly SortKey[],
    direction: Direction,
    asking: Patience,
  ): Promise<readonly (string | number)[]> => {
    const run = <R>(statement: Fragment): Promise<R[]> => all<R>(statement, false, asking)
    const found = await run<Record<string, string | number>>(
      q`SELECT m.rid AS rid${selected(keys, 'm')} FROM resource m WHERE m.rid = ${rid}`,
    )
    const [last] = await placeAll(found, keys, run)
    const isFalling = ({ descending }: SortKey): boolean => descending === (direction === 'older')
    return wholeKeys(held, last?.keys ?? [], (at) => isFalling(keys[at] as SortKey))
  }

  /** What is next to `position` by the order of resources, from one plan; `rowsOf` reads the rows of what is found. */
  const nextRows = async <R>(
    plan: Plan,
    position: PagePosition,
    limit: number,
    direction: Direction,
    asking: Patience,
    rowsOf: (found: Fragment, small: boolean) => Promise<R[]>,
  ): Promise<R[]> => {
    if (!isLong(plan)) return rowsOf(nextTo(plan, position, limit, direction), isSmall(plan))
    // Mostly a page lies among the newest.
    const near = direction === 'older' ? await rowsOf(nextTo(plan, position, limit, direction, NEAR), false) : []
    if (near.length === limit) return near
    return rowsOf(nextTo(await refined(plan, asking), position, limit, direction), false)
  }

  /** At most `limit` matches next to `position`, the nearest first. */
  const nearest = async (
    plans: readonly Plan[],
    position: PagePosition,
    keys: readonly SortKey[],
    limit: number,
    direction: Direction,
    asking: Patience,
  ): Promise<readonly Match[]> => {
    const { pin, rid } = position
    const values = areWhole(position.keys) ? position.keys : await valuesNow(position, keys, direction, asking)
    const order = raw(direction === 'older' ? 'DESC' : 'ASC')
    const rowsOf = (found: Fragment, small: boolean): Promise<VersionRow[]> =>
      all<VersionRow>(
        q`SELECT ${COLUMNS} FROM (${found}) k CROSS JOIN resource r WHERE r.rid = k.rid AND (r.flags & 1) = 0 ORDER BY k.rid ${order}`,
        small,
        asking,
      )
    const [plan] = plans
    if (keys.length === 0 && plans.length === 1 && plan !== undefined) {
      const rows = await nextRows(plan, position, limit, direction, asking, rowsOf)
      return rows.map((row) => ({ version: heldOrVersion(row), keys: [] }))
    }
    if (keys.length === 0) {
      const parts = plans.map((one) => nextTo(one, position, limit, direction))
      const found = q`SELECT rid FROM (${join(
        parts.map((part, at) => q`SELECT rid FROM (${part}) ${raw(`p${at}`)}`),
        ' UNION ALL ',
      )}) u ORDER BY rid ${order} LIMIT ${limit}`
      const rows = await rowsOf(found, false)
      return rows.map((row) => ({ version: heldOrVersion(row), keys: [] }))
    }
    const [key] = keys
    if (
      plans.length === 1 &&
      plan?.many &&
      keys.length === 1 &&
      key?.walk !== undefined &&
      values[0] !== key.walk.nothing
    ) {
      const found = along(plan, key.walk, key.descending, position, values, limit, direction)
      const rows = await all<VersionRow & { s0: number }>(
        q`SELECT ${COLUMNS}, k.s0 FROM (${found}) k CROSS JOIN resource r WHERE r.rid = k.rid AND (r.flags & 1) = 0 ORDER BY ${orderBy(keys, direction)}`,
        false,
        asking,
      )
      // Fewer than a page: those without a value come next, which only the whole set tells. None comes before the first.
      if (rows.length === limit || direction === 'newer')
        return rows.map((row) => ({ version: heldOrVersion(row), keys: [row.s0] }))
    }
    const set = await union(plans, pin, asking)
    if (keys.some(({ texts }) => texts !== undefined)) {
      const placed = await sortInMemory(
        source,
        statements,
        set,
        keys,
        { rid, keys: values },
        limit,
        direction,
        asking.signal,
      )
      const byRid = new Map(placed.map((one) => [one.rid, one.keys]))
      const found = await versions([...byRid.keys()], asking)
      return found.map((version) => ({ version, keys: byRid.get(version.rid) ?? [] }))
    }
    const after = values.length === 0 ? raw('1 = 1') : beyond(keys, values, rid, direction)
    const columns = raw(keys.map((_key, at) => `k.s${at}`).join(', '))
    const ordered = orderBy(keys, direction)
    const rows = await all<VersionRow & Record<string, string | number>>(
      q`SELECT ${COLUMNS}, ${columns} FROM (SELECT k.* FROM (SELECT m.rid AS rid${selected(keys, 'm')} FROM (${set}) m) k WHERE ${after} ORDER BY ${ordered} LIMIT ${limit}) k CROSS JOIN resource r WHERE r.rid = k.rid AND (r.flags & 1) = 0 ORDER BY ${ordered}`,
      plans.length === 1 && !(plans[0] as Plan).many && (plans[0] as Plan).size <= SMALL,
      asking,
    )
    return rows.map((row) => ({ version: heldOrVersion(row), keys: keys.map((_key, at) => row[`s${at}`] as string) }))
  }

  return {
    /** One page: at most `limit` matches after `position`. Several plans: several types. */
    page: (
      plans: readonly Plan[],
      position: PagePosition,
      keys: readonly SortKey[],
      limit: number,
      asking: Patience,
    ): Promise<readonly Match[]> => nearest(plans, position, keys, limit, 'older', asking),
    /** The same before `position`: the nearest first. */
    pageBefore: (
      plans: readonly Plan[],
      position: PagePosition,
      keys: readonly SortKey[],
      limit: number,
      asking: Patience,
    ): Promise<readonly Match[]> => nearest(plans, position, keys, limit, 'newer', asking),
    /** Numbers of the matches behind `position`, newest first, with the bytes that each has in the database. */
    places: (
      plan: Plan,
      position: PagePosition,
      limit: number,
      asking: Patience,
    ): Promise<readonly { readonly rid: number; readonly bytes: number }[]> =>
      nextRows(plan, position, limit, 'older', asking, (found, small) =>
        all(
          q`SELECT r.rid AS rid, coalesce(length(r.body), 0) AS bytes FROM (${found}) k CROSS JOIN resource r WHERE r.rid = k.rid AND (r.flags & 1) = 0 ORDER BY k.rid DESC`,
          small,
          asking,
        ),
      ),
    /** All matches, or `most` of them. */
    async count(plans: readonly Plan[], pin: number, most: number | undefined, asking: Patience): Promise<number> {
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
      asking: Patience,
    ): Promise<readonly number[]> {
      const name = createNames()
      const checks = join(
        plan.conditions.map((one) => q` AND ${one.probe('d', name)}`),
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
    select: <R>(statement: Fragment, asking: Patience): Promise<R[]> => all<R>(statement, false, asking),
    version: heldOrVersion,
    /** The same of a row whose version is known not to be held. */
    unheld: toVersion,
    fetch,
    versions,
    /** The same without keeping them in memory: of many that are read once. Newest first; what is deleted by now is left out. */
    async passing(rids: readonly number[], asking: Patience): Promise<StoredVersion[]> {
      if (rids.length === 0) return []
      const rows = await all<VersionRow>(byRids(rids), rids.length <= SMALL, asking)
      return rows
        .sort((one, other) => other.rid - one.rid)
        .map((row) => store?.held(row.rid, row.ver) ?? new StoredVersion(types.name(row.type), row))
    },
  }
}

export type Executor = ReturnType<typeof createExecutor>
