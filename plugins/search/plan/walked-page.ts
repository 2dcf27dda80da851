/**
 * A page of a sorted search along the index of its first key. Only where many match: few are sooner collected and sorted.
 */
import type { Plan } from '../query/plan-contract.ts'
import type { SortKey } from '../query/sort-order.ts'
import type { IndexScan, SortValue } from '../query/walk.ts'
import { type Fragment, q, raw } from '../sql/fragment.ts'
import { between, lacking, type Stretch, scanSql, type Way } from './along.ts'
import { type Direction, NEAR_ROWS, nextTo } from './plan.ts'
import { beyond, orderBy, selected } from './sort.ts'

/** A match: `rid`, and the values of the keys as `s0`, … */
export type Placing = { readonly rid: number } & Readonly<Record<string, SortValue>>

export interface Walking {
  /** With many matches. */
  readonly plan: Plan
  readonly keys: readonly SortKey[]
  readonly walk: IndexScan
  readonly pin: number
  readonly rid: number
  /** Values of the keys behind which the page begins; none: it is the first page. */
  readonly values: readonly SortValue[]
  readonly limit: number
  readonly direction: Direction
  /** The same plan, or one from a clause that was counted and found to have few rows. */
  readonly refine: (plan: Plan) => Promise<Plan>
  readonly run: (statement: Fragment) => Promise<readonly Placing[]>
}

/** The walk for some keys. Undefined where what follows the keys it tells lies in the resources. */
export const walkFor = (keys: readonly SortKey[]): IndexScan | undefined => {
  const walk = keys[0]?.walk
  return keys.every(({ value }) => value !== undefined) ? walk : undefined
}

/** What the walk finds, or the plan that few matches are collected by. */
type Found = { readonly rows: readonly Placing[] } | { readonly few: Plan }

/** Rows along the index: the first some thousand, then all, unless there turn out to be few. */
const step = async (walking: Walking, stretch: Stretch): Promise<Found> => {
  const { plan, walk, keys, direction, refine, run } = walking
  const way: Way = { walk, direction, descending: keys[0]?.descending === true }
  if (plan.conditions.length > 0) {
    const rows = await run(scanSql(plan, way, { ...stretch, near: NEAR_ROWS }))
    if (rows.length === stretch.limit) return { rows }
    const refined = await refine(plan)
    if (!refined.isEstimate) return { few: refined }
  }
  return { rows: await run(scanSql(plan, way, stretch)) }
}

/** By what the index tells, page after page: then those without a value, the newest first. */
const byWalk = async (walking: Walking): Promise<Found> => {
  const { plan, walk, pin, rid, values, limit, direction, run } = walking
  const isOnward = direction === 'older'
  const isBehind = values.length > 0 && values[0] === walk.nothing
  const own = { keys: values, rid }
  const stretch = (rows: number, from: Stretch['from']): Stretch => ({ pin, limit: rows, ...(from && { from }) })
  const last = async (rows: number, from: number): Promise<readonly Placing[]> => {
    if (walk.lacks === undefined) return []
    const found = await run(nextTo(lacking(plan, walk.lacks), { snapshotKey: pin, rid: from }, rows, direction))
    const nothing = Object.fromEntries(walk.keys.map((_key, at) => [`s${at}`, at === 0 ? walk.nothing : '']))
    return found.map((row) => ({ ...nothing, rid: row.rid }))
  }
  if (isOnward) {
    if (isBehind) return { rows: await last(limit, rid) }
    const found = await step(walking, stretch(limit, values.length === 0 ? undefined : own))
    if ('few' in found || found.rows.length === limit) return found
    return { rows: [...found.rows, ...(await last(limit - found.rows.length, Number.MAX_SAFE_INTEGER))] }
  }
  const before = isBehind ? await last(limit, rid) : []
  if (before.length === limit) return { rows: before }
  const found = await step(walking, stretch(limit - before.length, isBehind ? undefined : own))
  return 'few' in found ? found : { rows: [...before, ...found.rows] }
}

/**
 * Further keys only order what is equal in the first: the page lies among the matches up to the first value by which
 * there are enough. Undefined where they end before that: those without a value belong to the page.
 */
const byRange = async (walking: Walking): Promise<Found | undefined> => {
  const { plan, keys, walk, pin, rid, values, limit, direction, run } = walking
  if (values.length > 0 && values[0] === walk.nothing) return undefined
  const told = walk.keys.length
  const from = values.length === 0 ? undefined : values.slice(0, told)
  const found = await step(walking, { pin, limit, ...(from && { from: { keys: from } }) })
  if ('few' in found) return found
  const end = found.rows[limit - 1]
  if (end === undefined) return undefined
  const descending = keys[0]?.descending === true
  const isFalling = descending === (direction === 'older')
  const to = walk.keys.map((_key, at) => end[`s${at}`] as SortValue)
  const range = between(plan, { walk, direction, descending }, pin, [
    [isFalling ? '>=' : '<=', to],
    ...(from === undefined ? [] : [[isFalling ? '<=' : '>=', from] as const]),
  ])
  const rest = keys.map((key, at) => (at < told ? { ...key, value: () => raw(`m.s${at}`) } : key))
  const after = from === undefined ? raw('1 = 1') : beyond(keys, values, rid, direction)
  const ordered = orderBy(keys, direction)
  return {
    rows: await run(
      q`SELECT k.* FROM (SELECT m.rid AS rid${selected(rest, 'm')} FROM (${range}) m) k WHERE ${after} ORDER BY ${ordered} LIMIT ${limit}`,
    ),
  }
}

/** The nearest matches, nearest first; or the plan by which all of them are to be sorted. */
export const walkedPage = async (walking: Walking): Promise<Found> => {
  const { keys, walk, plan } = walking
  const found = keys.length === walk.keys.length ? await byWalk(walking) : await byRange(walking)
  return found ?? { few: plan }
}
