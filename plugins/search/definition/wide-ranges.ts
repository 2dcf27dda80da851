/**
 * Long periods and wide ranges of numbers are indexed under a separate column code. So a search for values that end
 * after a moment scans only a short stretch of the narrow rows before that moment.
 */

/** Offset of the separate column's code. */
export const WIDE_OFFSET = 1
/** Ranges longer than this are long: 32 days, a little more than a month. Milliseconds. */
export const WIDE_RANGE_MS = 32 * 86_400_000
