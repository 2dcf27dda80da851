/**
 * Where contained resources lie in the index: in the same tables as all others, under columns and types of their own
 * that are a fixed distance away, so that no search for whole resources meets them.
 * https://hl7.org/fhir/R4/search.html#contained
 */

/** Distance of the columns and types of contained resources; a multiple of the distance between columns. */
export const CONTAINED_OFFSET = 2 ** 30
/** Contained resources of one resource that are indexed: the first ones. */
export const MAX_CONTAINED = 999
const SPACE = MAX_CONTAINED + 1

/** The number of the contained resource at a place in a container; in the order of the containers. */
export const containedRid = (container: number, at: number): number => container * SPACE + at
/** The container of a contained resource. */
export const containerOf = (rid: number): number => Math.floor(rid / SPACE)
/** The number that stands for the container itself: behind those of what it contains. */
export const containerKeyOf = (container: number): number => container * SPACE + MAX_CONTAINED
/** Place in `contained`; undefined for the number of a container. */
export const containedIndex = (rid: number): number | undefined => {
  const at = rid % SPACE
  return at === MAX_CONTAINED ? undefined : at
}
// Whole numbers in the text of statements: SQLite divides what is bound as a decimal.
export const SPACE_SQL = String(SPACE)
export const CONTAINER_KEY_SQL = String(MAX_CONTAINED)
