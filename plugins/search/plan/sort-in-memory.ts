/**
 * `_sort` by values that the index holds only as hashes: reads the sort texts of all matches from the resources, in
 * chunks, and sorts them in memory. A page continues after a sort text and a resource key.
 */

import { decompressBody, type RowSource } from '../../storage/service.ts'
import { SearchTooCostly } from '../errors.ts'
import { bestSortText, type SortKey } from '../query/sort-order.ts'
import { type Fragment, isIn, q, raw } from '../sql/fragment.ts'
import type { StatementCache } from '../sql/statements.ts'
import type { Direction } from './plan.ts'
import { selected } from './sort.ts'

/** Most matches that are sorted so. Reading them takes half a second, with other work in between. */
export const MAX_SORTED = 20_000
const CHUNK = 200 // resources read at once, which takes some milliseconds

export interface SortedMatch {
  readonly rid: number
  readonly keys: readonly (string | number)[]
}

interface BodyRow {
  readonly rid: number
  readonly flags: number
  readonly body: Buffer
}

/** Negative where `one` comes before `other` on a page. */
export const compareSorted = (keys: readonly SortKey[], one: SortedMatch, other: SortedMatch): number => {
  for (let at = 0; at < keys.length; at += 1) {
    const [a, b] = [one.keys[at] as string, other.keys[at] as string]
    if (a !== b) return a < b === (keys[at] as SortKey).descending ? 1 : -1
  }
  return other.rid - one.rid
}

/** Adds the sort texts of matches to the sort values from the database. */
export const placeAll = async (
  found: readonly Record<string, string | number>[],
  keys: readonly SortKey[],
  run: <R>(statement: Fragment) => Promise<R[]>,
): Promise<readonly SortedMatch[]> => {
  const rids = isIn(
    'r.rid',
    found.map(({ rid }) => rid as number),
  )
  const rows = await run<BodyRow>(
    q`SELECT r.rid, r.flags, r.body FROM resource r WHERE ${rids} AND ${raw('(r.flags & 1) = 0')}`,
  )
  const bodies = new Map(rows.map((row) => [row.rid, row]))
  return found.flatMap((one): SortedMatch | readonly SortedMatch[] => {
    const row = bodies.get(one.rid as number)
    if (row === undefined) return []
    const resource = JSON.parse(decompressBody(row.body, row.flags).toString('utf8')) as Record<string, unknown>
    const keyOf = ({ texts, descending }: SortKey, at: number): string | number =>
      texts === undefined ? (one[`s${at}`] as string) : bestSortText(texts(resource), descending)
    return { rid: row.rid, keys: keys.map(keyOf) }
  })
}

/**
 * The `limit` matches after a position, or those before it, nearest first. `set` selects the resource keys of all
 * matches. Throws 400 when there are too many.
 */
export const sortInMemory = async (
  source: RowSource,
  statements: StatementCache,
  set: Fragment,
  keys: readonly SortKey[],
  position: SortedMatch,
  limit: number,
  direction: Direction,
  signal: AbortSignal,
): Promise<readonly SortedMatch[]> => {
  const run = <R>({ text, params }: Fragment): Promise<R[]> => source.longQuery<R>(statements(text), params, signal)
  const found = await run<Record<string, string | number>>(
    q`SELECT m.rid AS rid${selected(keys, 'm')} FROM (${set}) m LIMIT ${MAX_SORTED + 1}`,
  )
  if (found.length > MAX_SORTED)
    throw SearchTooCostly(
      `more than ${MAX_SORTED} matches are to be sorted by ${keys.find(({ texts }) => texts !== undefined)?.name}, whose values lie in the resources`,
    )
  const placed: SortedMatch[] = []
  for (let at = 0; at < found.length; at += CHUNK)
    placed.push(...(await placeAll(found.slice(at, at + CHUNK), keys, run)))
  const way = direction === 'older' ? 1 : -1
  const rest =
    position.keys.length === 0 ? placed : placed.filter((one) => way * compareSorted(keys, one, position) > 0)
  return rest.sort((one, other) => way * compareSorted(keys, one, other)).slice(0, limit)
}
