/** Finds local resources from the targets of absolute references: see convert/reference.ts. */
import { ABSOLUTE } from '../definition/column-codes.ts'
import { type Fragment, q, raw } from '../sql/fragment.ts'

/**
 * SQL for the number to subtract from the target of a row to get the hash of Type/id. `place`: SQL for the offset of
 * the row's column code. `base`: the hash of this server's own URL. NULL, which equals nothing, for absolute
 * references when the server has no URL of its own.
 */
export const ownBase = (place: string, base: number | undefined): Fragment => {
  const shift = base === undefined ? raw('NULL') : q`CAST(${base} AS bigint)`
  return q`CASE ${raw(place)} WHEN ${raw(String(ABSOLUTE))} THEN ${shift} ELSE 0 END`
}
