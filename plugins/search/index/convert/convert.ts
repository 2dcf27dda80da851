/** How a value becomes index rows. */
import type { IndexEntries } from '../index-entries.ts'

/** Adds the index rows of one value. Nothing is trusted to have the type it should: what does not fit makes no row. */
export type Convert = (rows: IndexEntries, column: number, value: any) => void

/** One converter for several FHIR types. */
export const alike = (convert: Convert, names: string): Record<string, Convert> =>
  Object.fromEntries(names.split(' ').map((name) => [name, convert]))
