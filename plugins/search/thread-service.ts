/**
 * What the threads of other plugins may import from search: the extraction of index rows from a resource, and how texts are compared. Loads no
 * code that performs searches.
 */

export { toContainedRows } from './index/contained/contained-entries.ts'
export { createConverters } from './index/convert/converters.ts'
export { addKeys } from './index/counter-keys.ts'
export { createExtraction } from './index/extraction.ts'
export { resourceTextOf } from './index/full-text/resource-text.ts'
export { createHasher } from './index/hash.ts'
export { indexedOf } from './index/indexed-json.ts'
export { normalize } from './index/normalize.ts'
export { createParameterState } from './index/parameter-state.ts'
export { createPatientSubjects } from './index/patient-subjects.ts'
export { toRowLists, toSharedLists } from './index/row-lists.ts'
