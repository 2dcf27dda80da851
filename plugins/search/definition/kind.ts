/** What kinds of values are indexed. */

export type IndexKind = 'token' | 'reference' | 'date' | 'string' | 'quantity' | 'uri' | 'position'

export type Json = Record<string, unknown>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** In the place of a FHIR type: the canonical names of the resource itself. */
export const OWN_CANONICAL = '(own canonical)'

/** In the place of `code` where its value set is that of MIME types. */
export const MIME_TYPE = '(MIME type)'
