/**
 * Reads a page of a sorted search by scanning the index of its first sort key. Only for searches with many matches:
 * few are faster to collect and sort.
 */
import type { Plan } from '../query/plan-contract.ts'
import type { SortKey } from '../query/sort-order.ts'
import type { IndexScan, SortValue } from '../query/walk.ts'
import { type Fragment, q, raw } from '../sql/fragment.ts'
import { between, lacking, type Stretch, scanSql, type Way } from './along.ts'
import { type Direction, NEAR_ROWS, nextTo } from './plan.ts'
import { beyond, orderBy, selected } from './sort.ts'

/** A match: `rid`, and its sort values as `s0`, … */
export type Placing = { readonly rid: number } & Readonly<Record<string, SortValue>>

export interface Walking {
  /** A plan with many matches. */
  readonly plan: Plan
  readonly keys: readonly SortKey[]
  readonly walk: IndexScan
  readonly pin: number
  readonly rid: number
  /** Sort values after which the page begins. Empty for the first page. */
  readonly values: readonly SortValue[]
  readonly limit: number
  readonly direction: Direction
  /** Returns the same plan, or one whose driving clause was counted and has few rows. */
  readonly refine: (plan: Plan) => Promise<Plan>
  readonly run: (statement: Fragment) => Promise<readonly Placing[]>
}

/** The index to scan for these sort keys. Undefined when a value has to be read from the resources. */
export const walkFor = (keys: readonly SortKey[]): IndexScan | undefined => {
  const walk = keys[0]?.walk
  return keys.every(({ value }) => value !== undefined) ? walk : undefined
}

/** The rows of the scan, or a plan with few matches to collect instead. */
type Found = { readonly rows: readonly Placing[] } | { readonly few: Plan }

/** Scans the first NEAR_ROWS rows, then all of them unless counting shows that few match. */
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

/** A page when the scan gives all sort values: matches with a value, then those without one, the newest first. */
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
 * A page when further keys sort matches with equal first values. The scan finds the value up to which there are
 * enough matches; all matches up to it are read and sorted. Undefined when the matches with a value do not fill the
 * page.
 */
const byRange = async (walking: Walking): Promise<Found | undefined> => {
  const { plan, keys, walk, pin, rid, values, limit, direction, run } = walking
  if (values.length > 0 && values[0] === walk.nothing) return undefined
  const keyCount = walk.keys.length
  const from = values.length === 0 ? undefined : values.slice(0, keyCount)
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
  const rest = keys.map((key, at) => (at < keyCount ? { ...key, value: () => raw(`m.s${at}`) } : key))
  const after = from === undefined ? raw('1 = 1') : beyond(keys, values, rid, direction)
  const ordered = orderBy(keys, direction)
  return {
    rows: await run(
      q`SELECT k.* FROM (SELECT m.rid AS rid${selected(rest, 'm')} FROM (${range}) m) k WHERE ${after} ORDER BY ${ordered} LIMIT ${limit}`,
    ),
  }
}

/** Returns the nearest matches, nearest first, or the plan by which all matches have to be collected and sorted. */
export const walkedPage = async (walking: Walking): Promise<Found> => {
  const { keys, walk, plan } = walking
  const found = keys.length === walk.keys.length ? await byWalk(walking) : await byRange(walking)
  return found ?? { few: plan }
}
