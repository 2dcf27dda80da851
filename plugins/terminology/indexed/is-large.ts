/** Which code systems are put into the index: below that, asking one in memory is faster, and parsing it takes some milliseconds. */
const LEAST_CONCEPTS = 2000
/** A concept takes at least so many bytes in JSON: `{"code":"1"},`. */
const CONCEPT_BYTES = 13

export const isLarge = (concepts: number): boolean => concepts > LEAST_CONCEPTS

/** Whether a resource of so many bytes may have more than LEAST_CONCEPTS. */
export const mayBeLarge = (bytes: number): boolean => bytes > LEAST_CONCEPTS * CONCEPT_BYTES
