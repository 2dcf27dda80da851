/**
 * Long periods and ranges of numbers have a column number of their own, beside the narrow ones: a search for what ends
 * after a moment then looks only a little before it among the many narrow rows.
 */

/** Distance of the wide column from its own. */
export const WIDE_OFFSET = 1
/** Longer than this is wide: a month and a little. */
export const WIDE_RANGE_MS = 32 * 86_400_000
