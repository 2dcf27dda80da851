/** Kinds of index columns. */

export type IndexKind = 'token' | 'reference' | 'date' | 'string' | 'quantity' | 'uri' | 'position'

export type Json = Record<string, unknown>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Used in place of a FHIR type: the resource's own canonical names, from its `url` and `version`. */
export const OWN_CANONICAL = '(own canonical)'

/** Used in place of `code` where the element is bound to the value set of MIME types. */
export const MIME_TYPE = '(MIME type)'
