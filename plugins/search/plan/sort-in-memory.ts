/**
 * `_sort` by what the index holds as hashes: the keys of all matches are read from the resources themselves, some
 * hundred at a time, and put in order here. Pages go on behind a key and a rid as those of other orders do.
 */

import { decompressBody, type RowSource } from '../../storage/service.ts'
import { SearchTooCostly } from '../errors.ts'
import { missingSortText, type SortKey } from '../query/sort-order.ts'
import { type Fragment, isIn, q, raw } from '../sql/fragment.ts'
import type { StatementCache } from '../sql/statements.ts'
import type { Direction } from './plan.ts'
import { selected } from './sort.ts'

/** Matches that may be sorted so: half a second of reading, shared with others. */
export const MAX_SORTED = 20_000
const CHUNK = 200 // resources read at once: some milliseconds

export interface SortedMatch {
  readonly rid: number
  readonly keys: readonly (string | number)[]
}

interface BodyRow {
  readonly rid: number
  readonly flags: number
  readonly body: Buffer
}

/** Least of several ascending, greatest descending. */
const bestOf = (texts: readonly string[], descending: boolean): string => {
  let best: string | undefined
  for (const text of texts) if (best === undefined || (descending ? text > best : text < best)) best = text
  return best ?? missingSortText(descending)
}

const compare = (keys: readonly SortKey[], one: SortedMatch, other: SortedMatch): number => {
  for (let at = 0; at < keys.length; at += 1) {
    const [a, b] = [one.keys[at] as string, other.keys[at] as string]
    if (a !== b) return a < b === (keys[at] as SortKey).descending ? 1 : -1
  }
  return other.rid - one.rid
}

/** Values in the order asked for, of matches with those that the database tells. */
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
      texts === undefined ? (one[`s${at}`] as string) : bestOf(texts(resource), descending)
    return { rid: row.rid, keys: keys.map(keyOf) }
  })
}

/** The `limit` matches behind a position, or those before it, nearest first. `set` selects the rids of all matches. Throws 400 when there are too many. */
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
  const rest = position.keys.length === 0 ? placed : placed.filter((one) => way * compare(keys, one, position) > 0)
  return rest.sort((one, other) => way * compare(keys, one, other)).slice(0, limit)
}
