/** Functions that turn a value into index rows. */
import type { IndexEntries } from '../index-entries.ts'

/**
 * Adds the index rows of one value to `rows`. The value may be of any JSON type; one of an unexpected type adds no
 * row.
 */
export type Convert = (rows: IndexEntries, column: number, value: any) => void

/** A table that maps several FHIR types, separated by blanks, to one converter. */
export const alike = (convert: Convert, names: string): Record<string, Convert> =>
  Object.fromEntries(names.split(' ').map((name) => [name, convert]))
