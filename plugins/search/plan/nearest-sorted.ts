/** Reads the matches next to a position in a sort order. */
import type { VersionRow } from '../../storage/service.ts'
import { areWhole, wholeKeys } from '../query/page-keys.ts'
import type { PagePosition } from '../query/page-token.ts'
import type { Plan } from '../query/plan-contract.ts'
import type { SortKey } from '../query/sort-order.ts'
import type { IndexScan } from '../query/walk.ts'
import { type Fragment, q, raw } from '../sql/fragment.ts'
import type { Deadline } from './deadline.ts'
import { allThere, type Nearest, type NearestParts } from './nearest-contract.ts'
import type { Direction } from './plan.ts'
import { beyond, orderBy, selected } from './sort.ts'
import { placeAll, type SortedMatch, sortInMemory } from './sort-in-memory.ts'
import { type Placing, walkedPage, walkFor } from './walked-page.ts'

type Parts = Omit<NearestParts, 'nextRows'>

/** Fewer than `limit` also when some are deleted before they are read. */
export const createNearestSorted = ({
  source,
  statements,
  columns,
  all,
  versions,
  toVersion,
  refined,
  union,
  hasFewRows,
}: Parts) => {
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

  /** Walks along the sort order. `few`: the plan finds few matches after all. */
  const walked = async (
    plan: Plan,
    walk: IndexScan,
    { snapshotKey, rid }: PagePosition,
    keys: readonly SortKey[],
    values: readonly (string | number)[],
    limit: number,
    direction: Direction,
    asking: Deadline,
  ): Promise<{ readonly matches: readonly SortedMatch[] } | { readonly few: Plan }> => {
    const found = await walkedPage({
      ...{ plan, keys, walk, pin: snapshotKey, rid, values, limit, direction },
      refine: (one) => refined(one, asking, true),
      run: (statement) => all(statement, false, asking),
    })
    if (!('rows' in found)) return found
    const keysOf = (row: Placing): readonly (string | number)[] =>
      keys.map((_key, at) => row[`s${at}`] as string | number)
    return { matches: found.rows.map((row) => ({ rid: row.rid, keys: keysOf(row) })) }
  }

  /**
   * Reads at most `limit` matches next to `position`, nearest first. Fewer also when some are deleted before they are
   * read.
   */
  return async (
    plans: readonly Plan[],
    position: PagePosition,
    keys: readonly SortKey[],
    limit: number,
    direction: Direction,
    asking: Deadline,
  ): Promise<Nearest> => {
    const { snapshotKey, rid } = position
    const values = areWhole(position.keys) ? position.keys : await valuesNow(position, keys, direction, asking)
    const [plan] = plans
    const walk = plans.length === 1 && plan?.isEstimate ? walkFor(keys) : undefined
    let whole = plans
    if (plan !== undefined && walk !== undefined) {
      const found = await walked(plan, walk, position, keys, values, limit, direction, asking)
      if ('matches' in found) return contentOf(found.matches, plans, asking)
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
}
