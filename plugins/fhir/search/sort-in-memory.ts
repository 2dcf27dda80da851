/**
 * `_sort` by what the index holds as hashes: the keys of all matches are read from the resources themselves, some
 * hundred at a time, and put in order here. Pages go on behind a key and a rid as those of other orders do.
 */

import { unpackBody } from '../store/body.ts'
import type { Source } from '../store/source.ts'
import { SearchTooCostly } from './errors.ts'
import { type Fragment, isIn, q, raw } from './fragment.ts'
import type { PagePosition } from './page-token.ts'
import type { Statements } from './plan.ts'
import { noText, type SortKey, selected } from './sort.ts'

/** Matches that may be sorted so: half a second of reading, shared with others. */
export const MOST_SORTED = 20_000
const CHUNK = 200 // resources read at once: some milliseconds

export interface Placed {
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
  return best ?? noText(descending)
}

const compare = (keys: readonly SortKey[], one: Placed, other: Placed): number => {
  for (let at = 0; at < keys.length; at += 1) {
    const [a, b] = [one.keys[at] as string, other.keys[at] as string]
    if (a !== b) return a < b === (keys[at] as SortKey).descending ? 1 : -1
  }
  return other.rid - one.rid
}

/** The `limit` matches behind a position. `set` selects the rids of all matches. Throws 400 when there are too many. */
export const sortInMemory = async (
  source: Source,
  statements: Statements,
  set: Fragment,
  keys: readonly SortKey[],
  position: PagePosition,
  limit: number,
  signal: AbortSignal,
): Promise<readonly Placed[]> => {
  const run = <R>({ text, params }: Fragment): Promise<R[]> => source.slow<R>(statements(text), params, signal)
  const found = await run<Record<string, string | number>>(
    q`SELECT m.rid AS rid${selected(keys, 'm')} FROM (${set}) m LIMIT ${MOST_SORTED + 1}`,
  )
  if (found.length > MOST_SORTED)
    throw SearchTooCostly(
      `more than ${MOST_SORTED} matches are to be sorted by ${keys.find(({ texts }) => texts !== undefined)?.name}, whose values lie in the resources`,
    )
  const placed: Placed[] = []
  for (let at = 0; at < found.length; at += CHUNK) {
    const chunk = found.slice(at, at + CHUNK)
    const rids = isIn(
      'r.rid',
      chunk.map(({ rid }) => rid as number),
    )
    const rows = await run<BodyRow>(
      q`SELECT r.rid, r.flags, r.body FROM resource r WHERE ${rids} AND ${raw('(r.flags & 1) = 0')}`,
    )
    const bodies = new Map(rows.map((row) => [row.rid, row]))
    for (const one of chunk) {
      const row = bodies.get(one.rid as number)
      if (row === undefined) continue
      const text = unpackBody(row.body, row.flags).toString('utf8')
      const resource = JSON.parse(text) as Record<string, unknown>
      placed.push({
        rid: row.rid,
        keys: keys.map(({ texts, descending }, key) =>
          texts === undefined ? (one[`s${key}`] as string) : bestOf(texts(resource), descending),
        ),
      })
    }
  }
  const after: Placed = { rid: position.rid, keys: position.keys }
  const rest = position.keys.length === 0 ? placed : placed.filter((one) => compare(keys, one, after) > 0)
  return rest.sort((one, other) => compare(keys, one, other)).slice(0, limit)
}
