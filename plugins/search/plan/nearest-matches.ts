/**
 * The matches next to a position, in any order. Where content is read after the places are found, a match that is deleted
 * or changed so that it matches no longer is replaced by the next one: a page that is short for that reason must not be
 * taken for the last.
 */
import type { RowSource, StoredVersion, VersionRow } from '../../storage/service.ts'
import type { TypeConditions } from '../query/clause-sql.ts'
import { areWhole, wholeKeys } from '../query/page-keys.ts'
import type { PagePosition } from '../query/page-token.ts'
import type { Plan } from '../query/plan-contract.ts'
import type { SortKey } from '../query/sort-order.ts'
import { type Fragment, join, q, raw } from '../sql/fragment.ts'
import type { StatementCache } from '../sql/statements.ts'
import type { Deadline } from './deadline.ts'
import { type Direction, nextTo } from './plan.ts'
import { beyond, orderBy, selected } from './sort.ts'
import { placeAll, type SortedMatch, sortInMemory } from './sort-in-memory.ts'
import { type Placing, walkedPage, walkFor } from './walked-page.ts'

export interface SearchMatch {
  readonly version: StoredVersion
  readonly keys: readonly (string | number)[]
  /** Its number in the order of the page, when that is not its rid. */
  readonly sortPosition?: number
  /** Place in `contained` of its version, when that is what was found. */
  readonly contained?: number | undefined
}

/** What one search for a page gave. */
interface Nearest {
  readonly matches: readonly SearchMatch[]
  /** How many were found, before their content was read. */
  readonly places: number
  /** The last of those, where content is read later than they are found. */
  readonly last?: SortedMatch | undefined
}

/** What a page is read with: parts of the executor. */
export interface NearestParts {
  readonly source: RowSource
  readonly statements: StatementCache
  /** Columns of a row of `r`, a current resource. */
  readonly columns: Fragment
  /** Rows of a statement: on the main thread where it is small. */
  readonly all: <R>(statement: Fragment, small: boolean, asking: Deadline) => Promise<R[]>
  /** Those that are not deleted by now and still meet what is required, in the order given. */
  readonly versions: (
    rids: readonly number[],
    asking: Deadline,
    required: readonly TypeConditions[],
  ) => Promise<readonly StoredVersion[]>
  readonly toVersion: (row: VersionRow) => StoredVersion
  readonly refined: (plan: Plan, asking: Deadline, isSorted?: boolean) => Promise<Plan>
  /** Every match of some plans, in no order. */
  readonly union: (plans: readonly Plan[], pin: number, asking: Deadline) => Promise<Fragment>
  /** What is next to a position by the order of resources, from one plan. */
  readonly nextRows: <R>(
    plan: Plan,
    position: PagePosition,
    limit: number,
    direction: Direction,
    asking: Deadline,
    rowsOf: (found: Fragment, small: boolean) => Promise<R[]>,
  ) => Promise<R[]>
  /** True of a plan that goes through few rows for sure. */
  readonly hasFewRows: (plan: Plan) => boolean
}

/** At most `limit` matches next to `position`, the nearest first; fewer only where there are no more. */
export type FindNearest = (
  plans: readonly Plan[],
  position: PagePosition,
  keys: readonly SortKey[],
  limit: number,
  direction: Direction,
  asking: Deadline,
) => Promise<readonly SearchMatch[]>

export const createFindNearest = (parts: NearestParts): FindNearest => {
  const { source, statements, columns, all, versions, toVersion, refined, union, nextRows, hasFewRows } = parts

  /** Matches whose content is read after they were found. */
  const contentOf = async (
    places: readonly SortedMatch[],
    plans: readonly Plan[],
    asking: Deadline,
  ): Promise<Nearest> => {
    const byRid = new Map(places.map((one) => [one.rid, one.keys]))
    const found = await versions([...byRid.keys()], asking, plans)
    return {
      matches: found.map((version) => ({ version, keys: byRid.get(version.rid) ?? [] })),
      places: places.length,
      last: places.at(-1),
    }
  }
  const allThere = (matches: readonly SearchMatch[]): Nearest => ({ matches, places: matches.length })

  /** The values behind which a page begins, where its link holds only the beginning of some. */
  const valuesNow = async (
    { rid, keys: held }: PagePosition,
    keys: readonly SortKey[],
    direction: Direction,
    asking: Deadline,
  ): Promise<readonly (string | number)[]> => {
    const run = <R>(statement: Fragment): Promise<R[]> => all<R>(statement, false, asking)
    const found = await run<Record<string, string | number>>(
      q`SELECT m.rid AS rid${selected(keys, 'm')} FROM resource m WHERE m.rid = ${rid}`,
    )
    const [last] = await placeAll(found, keys, run)
    const isFalling = ({ descending }: SortKey): boolean => descending === (direction === 'older')
    return wholeKeys(held, last?.keys ?? [], (at) => isFalling(keys[at] as SortKey))
  }

  /** At most `limit` matches next to `position`, the nearest first; fewer where some are deleted before they are read. */
  const findNearest = async (
    plans: readonly Plan[],
    position: PagePosition,
    keys: readonly SortKey[],
    limit: number,
    direction: Direction,
    asking: Deadline,
  ): Promise<Nearest> => {
    const { snapshotKey, rid } = position
    const values = areWhole(position.keys) ? position.keys : await valuesNow(position, keys, direction, asking)
    const order = raw(direction === 'older' ? 'DESC' : 'ASC')
    const rowsOf = (found: Fragment, small: boolean): Promise<VersionRow[]> =>
      all<VersionRow>(
        q`SELECT ${columns} FROM (${found}) k CROSS JOIN resource r WHERE r.rid = k.rid AND (r.flags & 1) = 0 ORDER BY k.rid ${order}`,
        small,
        asking,
      )
    const [plan] = plans
    if (keys.length === 0 && plans.length === 1 && plan !== undefined) {
      const rows = await nextRows(plan, position, limit, direction, asking, rowsOf)
      return allThere(rows.map((row) => ({ version: toVersion(row), keys: [] })))
    }
    if (keys.length === 0) {
      const parts = plans.map((one) => nextTo(one, position, limit, direction))
      const found = q`SELECT rid FROM (${join(
        parts.map((part, at) => q`SELECT rid FROM (${part}) ${raw(`p${at}`)}`),
        ' UNION ALL ',
      )}) u ORDER BY rid ${order} LIMIT ${limit}`
      const rows = await rowsOf(found, false)
      return allThere(rows.map((row) => ({ version: toVersion(row), keys: [] })))
    }
    const walk = walkFor(keys)
    let whole = plans
    if (plans.length === 1 && plan?.isEstimate && walk !== undefined) {
      const found = await walkedPage({
        ...{ plan, keys, walk, pin: snapshotKey, rid, values, limit, direction },
        refine: (one) => refined(one, asking, true),
        run: (statement) => all(statement, false, asking),
      })
      if ('rows' in found) {
        const keysOf = (row: Placing): readonly (string | number)[] =>
          keys.map((_key, at) => row[`s${at}`] as string | number)
        return contentOf(
          found.rows.map((row) => ({ rid: row.rid, keys: keysOf(row) })),
          plans,
          asking,
        )
      }
      whole = [found.few]
    }
    const set = await union(whole, snapshotKey, asking)
    if (keys.some(({ texts }) => texts !== undefined)) {
      const sorted = await sortInMemory(
        source,
        statements,
        set,
        keys,
        { rid, keys: values },
        limit,
        direction,
        asking.signal,
      )
      return contentOf(sorted, plans, asking)
    }
    const after = values.length === 0 ? raw('1 = 1') : beyond(keys, values, rid, direction)
    const sorted = raw(keys.map((_key, at) => `k.s${at}`).join(', '))
    const ordered = orderBy(keys, direction)
    const rows = await all<VersionRow & Record<string, string | number>>(
      q`SELECT ${columns}, ${sorted} FROM (SELECT k.* FROM (SELECT m.rid AS rid${selected(keys, 'm')} FROM (${set}) m) k WHERE ${after} ORDER BY ${ordered} LIMIT ${limit}) k CROSS JOIN resource r WHERE r.rid = k.rid AND (r.flags & 1) = 0 ORDER BY ${ordered}`,
      whole.length === 1 && hasFewRows(whole[0] as Plan),
      asking,
    )
    return allThere(
      rows.map((row) => ({ version: toVersion(row), keys: keys.map((_key, at) => row[`s${at}`] as string) })),
    )
  }

  return async (plans, position, keys, limit, direction, asking) => {
    const found: SearchMatch[] = []
    for (let from = position; ; ) {
      const wanted = limit - found.length
      const { matches, places, last } = await findNearest(plans, from, keys, wanted, direction, asking)
      found.push(...matches)
      // A page that is short because others delete must not be taken for the last one.
      if (found.length === limit || places < wanted || last === undefined) return found
      from = { snapshotKey: position.snapshotKey, ...last }
    }
  }
}
