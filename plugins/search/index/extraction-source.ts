import type { SearchDefinitions } from '../definition/stored-definitions.ts'
import type { ColumnRow } from './columns.ts'

/** What another thread needs for the same extraction, as plain data. */
export interface ExtractionSource {
  readonly seed: number
  /** Code systems whose codes are compared without case. */
  readonly caseless: readonly string[]
  readonly model: SearchDefinitions
  readonly held: readonly ColumnRow[]
  readonly packaged: ReadonlySet<string>
  readonly posted: ReadonlySet<string>
}
