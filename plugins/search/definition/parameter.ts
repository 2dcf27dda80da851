/** A search parameter with its columns, as searches use it. */

import type { IndexKind } from './kind.ts'
import type { ParameterType } from './stored-definitions.ts'

/** A column of a search parameter. */
export interface ParameterColumn {
  readonly code: number
  /** Limits the column to references to this type. */
  readonly refers?: string
  /**
   * Index of the bit in the masks of `ix_res` that says whether a resource has a value. -1 where all bits were taken.
   */
  readonly bit: number
  /**
   * Column code that the index entries of a resource contain when it has a value: the column's own, or that of an
   * alias.
   */
  readonly presence: number
  readonly ready: boolean
  /** Value sets its codes are from, when all are of type `code`; `boolean` when all are true or false. */
  readonly implied?: readonly string[]
  /** The column may hold canonicals. */
  readonly canonical?: true
}

export interface Parameter {
  readonly code: string
  readonly url: string
  readonly type: ParameterType
  readonly columns: readonly ParameterColumn[]
  /** Resource types that its references may point at. Empty when the definition names none. */
  readonly targets: readonly string[]
  readonly components: readonly IndexKind[]
  /** Progress of its least complete column. Undefined when all are complete. */
  readonly indexing: { readonly type: string; readonly indexed: number; readonly expected: number } | undefined
}
