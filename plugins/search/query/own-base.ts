/** What is taken off the target of an index row to find the resource that it means: see convert/reference.ts. */
import { ABSOLUTE } from '../definition/column-codes.ts'
import { type Fragment, q, raw } from '../sql/fragment.ts'

/**
 * `place` is the SQL that tells the kind of the row, `base` the hash of this server's own URL. NULL, which equals nothing, for
 * absolute references where the server has no URL of its own.
 */
export const ownBase = (place: string, base: number | undefined): Fragment => {
  const shift = base === undefined ? raw('NULL') : q`CAST(${base} AS bigint)`
  return q`CASE ${raw(place)} WHEN ${raw(String(ABSOLUTE))} THEN ${shift} ELSE 0 END`
}
