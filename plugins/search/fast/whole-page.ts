import type { VersionRow } from '../../storage/service.ts'
import { ABSOLUTE_LEFT_OUT, type CompiledStatement, MAX_SCANNED_ROWS, MORE } from './compiled-statement.ts'

/** A match, whose version may be cached. */
export type BriefRow = Pick<VersionRow, 'rid' | 'ver'>

const newestFirst = (one: BriefRow, other: BriefRow): number => other.rid - one.rid

/** Sorts and removes repeats and extra rows. Undefined when rows that may match were left out. */
export const wholePage = <R extends BriefRow>(
  rows: R[],
  { isCollected }: CompiledStatement,
  limit: number,
): R[] | undefined => {
  // The parts of a UNION ALL come in any order.
  if (rows.length > 1) rows.sort(newestFirst)
  if (isCollected) {
    if (rows.length > MAX_SCANNED_ROWS) return undefined
    return rows.length < 2 ? rows : rows.filter(({ rid }, at) => rows[at - 1]?.rid !== rid).slice(0, limit)
  }
  let more = false
  while (rows.length > 0 && (rows.at(-1) as R).rid < 0) {
    const { rid } = rows.pop() as R
    if (rid === ABSOLUTE_LEFT_OUT) return undefined
    more ||= rid === MORE
  }
  return more && rows.length < limit ? undefined : rows
}
