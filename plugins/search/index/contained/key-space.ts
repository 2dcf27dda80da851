/**
 * Keys of contained resources in the index. They are in the same tables as other resources, but under column and type
 * codes that are lower by a fixed offset, so that searches for whole resources do not find them.
 * https://hl7.org/fhir/R4/search.html#contained
 */

/** That offset; a multiple of COLUMN_STEP. */
export const CONTAINED_OFFSET = 2 ** 30
/** Only so many contained resources of one resource are indexed. */
export const MAX_CONTAINED = 999
const SPACE = MAX_CONTAINED + 1

/** The key of the contained resource at index `at` of a container. Keys sort by container. */
export const containedRid = (container: number, at: number): number => container * SPACE + at
/** The resource key of the container of a contained resource. */
export const containerOf = (rid: number): number => Math.floor(rid / SPACE)
/** A key for the container itself, which sorts after those of its contained resources. */
export const containerKeyOf = (container: number): number => container * SPACE + MAX_CONTAINED
/** The index in `contained`. Undefined for the key of a container. */
export const containedIndex = (rid: number): number | undefined => {
  const at = rid % SPACE
  return at === MAX_CONTAINED ? undefined : at
}
// Written into statements as integer literals, because SQLite would divide a bound number as a decimal.
export const SPACE_SQL = String(SPACE)
export const CONTAINER_KEY_SQL = String(MAX_CONTAINED)
