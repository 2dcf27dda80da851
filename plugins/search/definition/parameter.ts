/** A search parameter as searches use it, with its columns. */

import type { IndexKind } from './kind.ts'
import type { ParameterType } from './stored-definitions.ts'

/** A column of a parameter as a search uses it. */
export interface ParameterColumn {
  readonly code: number
  /** Only references to this type. */
  readonly refers?: string
  /** Place of the bit that tells whether a resource has a value; -1 when there was no room for one. */
  readonly bit: number
  /** The code under which rows tell that there is a value: its own, or that of a column which only notes it. */
  readonly presence: number
  readonly ready: boolean
  /** Value sets its codes are from, when all are of type `code`; `boolean` when all are true or false. */
  readonly implied?: readonly string[]
  /** Its references are canonicals, or may be. */
  readonly canonical?: true
}

export interface Parameter {
  readonly code: string
  readonly url: string
  readonly type: ParameterType
  readonly columns: readonly ParameterColumn[]
  /** Types its references may point at; empty when not said. */
  readonly targets: readonly string[]
  readonly components: readonly IndexKind[]
  /** Of its columns the one that is furthest behind; undefined when all are complete. */
  readonly indexing: { readonly type: string; readonly indexed: number; readonly expected: number } | undefined
}
