/**
 * Reads the matches next to a position, in any order. Where their content is read in a second step, a match may be
 * deleted or changed in between. The next match then takes its place, because a page that is not full would be taken
 * for the last one.
 */
import type { VersionRow } from '../../storage/service.ts'
import type { PagePosition } from '../query/page-token.ts'
import type { Plan } from '../query/plan-contract.ts'
import { type Fragment, join, q, raw } from '../sql/fragment.ts'
import type { Deadline } from './deadline.ts'
import { allThere, type FindNearest, type Nearest, type NearestParts, type SearchMatch } from './nearest-contract.ts'
import { createNearestSorted } from './nearest-sorted.ts'
import { type Direction, nextTo } from './plan.ts'

export const createFindNearest = (parts: NearestParts): FindNearest => {
  const { columns, all, toVersion, nextRows } = parts
  const nearestSorted = createNearestSorted(parts)

  /** The matches with their content, sorted by resource key, which is the order of their creation. */
  const nearestByKey = async (
    plans: readonly Plan[],
    position: PagePosition,
    limit: number,
    direction: Direction,
    asking: Deadline,
  ): Promise<Nearest> => {
    const order = raw(direction === 'older' ? 'DESC' : 'ASC')
    const rowsOf = (found: Fragment, small: boolean): Promise<VersionRow[]> =>
      all<VersionRow>(
        q`SELECT ${columns} FROM (${found}) k CROSS JOIN resource r WHERE r.rid = k.rid AND (r.flags & 1) = 0 ORDER BY k.rid ${order}`,
        small,
        asking,
      )
    const nextOfAll = (): Fragment => {
      const parts = plans.map(
        (one, at) => q`SELECT rid FROM (${nextTo(one, position, limit, direction)}) ${raw(`p${at}`)}`,
      )
      return q`SELECT rid FROM (${join(parts, ' UNION ALL ')}) u ORDER BY rid ${order} LIMIT ${limit}`
    }
    const [plan] = plans
    const rows =
      plans.length === 1 && plan !== undefined
        ? await nextRows(plan, position, limit, direction, asking, rowsOf)
        : await rowsOf(nextOfAll(), false)
    return allThere(rows.map((row) => ({ version: toVersion(row), keys: [] })))
  }

  return async (plans, position, keys, limit, direction, asking) => {
    const found: SearchMatch[] = []
    for (let from = position; ; ) {
      const wanted = limit - found.length
      const { matches, places, last } = await (keys.length === 0
        ? nearestByKey(plans, from, wanted, direction, asking)
        : nearestSorted(plans, from, keys, wanted, direction, asking))
      found.push(...matches)
      // Continues after matches that were deleted meanwhile, until the page is full or there are no more.
      if (found.length === limit || places < wanted || last === undefined) return found
      from = { snapshotKey: position.snapshotKey, ...last }
    }
  }
}
