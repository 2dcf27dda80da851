/** What the threads of other plugins may import from storage. */
export { decompressBody } from './body/body.ts'
export { packPart } from './body/compressed-parts.ts'
export { findingsOf } from './findings.ts'
export { toInstant } from './version-time.ts'
