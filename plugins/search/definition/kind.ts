/** What kinds of values are indexed, and how a value becomes rows. */
import type { IndexEntries } from '../index/index-entries.ts'

export type IndexKind = 'token' | 'reference' | 'date' | 'string' | 'quantity' | 'uri' | 'position'

export type Json = Record<string, unknown>

/** Adds the index rows of one value. Nothing is trusted to have the type it should: what does not fit makes no row. */
export type Convert = (rows: IndexEntries, column: number, value: any) => void

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** In the place of a FHIR type: the canonical names of the resource itself. */
export const OWN_CANONICAL = '(own canonical)'

/** In the place of `code` where its value set is that of MIME types. */
export const MIME_TYPE = '(MIME type)'

/** One converter for several FHIR types. */
export const alike = (convert: Convert, names: string): Record<string, Convert> =>
  Object.fromEntries(names.split(' ').map((name) => [name, convert]))
