/**
 * Reads the matches next to a position, in any order. Where their content is read in a second step, a match may be
 * deleted or changed in between. The next match then takes its place, because a page that is not full would be taken
 * for the last one.
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
  /** Its key in the order of the page, when that is not its resource key. */
  readonly sortPosition?: number
  /** Index in `contained`, when the match is that contained resource. */
  readonly contained?: number | undefined
}

/** Result of one attempt to read a page. */
interface Nearest {
  readonly matches: readonly SearchMatch[]
  /** Number of matches that were found, before their content was read. */
  readonly places: number
  /** The last of these. Undefined when the content was read in the same statement. */
  readonly last?: SortedMatch | undefined
}

export type NextRows = <R>(
  plan: Plan,
  position: PagePosition,
  limit: number,
  direction: Direction,
  asking: Deadline,
  rowsOf: (found: Fragment, small: boolean) => Promise<R[]>,
) => Promise<R[]>

/** Functions of the executor that read a page. */
export interface NearestParts {
  readonly source: RowSource
  readonly statements: StatementCache
  /** Columns of the table of resources, alias `r`. */
  readonly columns: Fragment
  /** Runs a statement; on the main thread when `small` is true. */
  readonly all: <R>(statement: Fragment, small: boolean, asking: Deadline) => Promise<R[]>
  /** Reads the resources that still exist and match `required`, in the order of the keys. */
  readonly versions: (
    rids: readonly number[],
    asking: Deadline,
    required: readonly TypeConditions[],
  ) => Promise<readonly StoredVersion[]>
  readonly toVersion: (row: VersionRow) => StoredVersion
  readonly refined: (plan: Plan, asking: Deadline, isSorted?: boolean) => Promise<Plan>
  /** SQL that selects all matches of some plans, unsorted. */
  readonly union: (plans: readonly Plan[], pin: number, asking: Deadline) => Promise<Fragment>
  /** Reads the rows next to a position for one plan, in the order of resource keys. */
  readonly nextRows: NextRows
  /** True when the plan certainly reads few rows. */
  readonly hasFewRows: (plan: Plan) => boolean
}

/** Reads at most `limit` matches next to `position`, nearest first. Fewer only when there are no more. */
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

  /** Reads the content of matches that were found before. */
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

  /** The whole sort values of a position whose link holds only the beginning of some. */
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

  /**
   * Reads at most `limit` matches next to `position`, nearest first. Fewer also when some are deleted before they are
   * read.
   */
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
      // Continues after matches that were deleted meanwhile, until the page is full or there are no more.
      if (found.length === limit || places < wanted || last === undefined) return found
      from = { snapshotKey: position.snapshotKey, ...last }
    }
  }
}
