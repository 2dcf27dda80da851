/**
 * The compiled form of SearchParameters and CompartmentDefinitions, as it is stored, and the elements it is compiled
 * from.
 */
import type { ElementPath, StructureDefinition } from '../../model/service.ts'
import type { IndexKind } from './kind.ts'

export type ParameterType =
  | 'number'
  | 'date'
  | 'string'
  | 'token'
  | 'reference'
  | 'composite'
  | 'quantity'
  | 'uri'
  | 'special'

export interface StoredComponent {
  readonly kind: IndexKind
  readonly branches: readonly ElementPath[]
}

/** One index column: values of one kind that an expression selects in a resource type. */
export interface StoredColumn {
  readonly type: string
  readonly kind: IndexKind | 'composite' | 'alias'
  /** Normalized text of the expression. Type, kind and expression identify the column. */
  readonly expression: string
  readonly branches: readonly ElementPath[]
  /** The expression is evaluated by fhirpath.js, because it is not a plain path. */
  readonly exotic?: true
  readonly components?: readonly StoredComponent[]
  /** Only for an alias, which has no rows: its bit says that the other column has a reference to the type `refers`. */
  readonly of?: { readonly expression: string; readonly refers: string }
}

export interface StoredParameter {
  readonly code: string
  readonly url: string
  readonly type: ParameterType
  readonly base: string
  /**
   * `column` and `present` are indexes in the list of columns. `refers` limits a reference to one type, and `present`
   * is the alias column for it.
   */
  readonly columns: readonly { readonly column: number; readonly refers?: string; readonly present?: number }[]
  readonly targets: readonly string[]
  readonly components: readonly IndexKind[]
}

/** A column that combines a reference column with a token column; all three are indexes in the list of columns. */
export interface PatientCodeColumn {
  readonly column: number
  readonly reference: number
  readonly token: number
}

export interface SearchDefinitions {
  readonly columns: readonly StoredColumn[]
  readonly parameters: readonly StoredParameter[]
  /** Type → index of the column with the canonical names of its resources. */
  readonly canonicals: Readonly<Record<string, number>>
  /** Columns that combine the patient and the code of a resource. */
  readonly pairs: readonly PatientCodeColumn[]
  /**
   * Compartment → type → codes of the parameters that place a resource in the compartment; `{def}` stands for the
   * compartment's own type.
   */
  readonly compartments: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>
}

export interface SearchParameterResource {
  readonly url: string
  readonly code: string
  readonly type: ParameterType
  readonly base?: readonly string[]
  readonly expression?: string
  readonly experimental?: boolean
  readonly target?: readonly string[]
  readonly component?: readonly { readonly definition: string; readonly expression: string }[]
}

export interface CompartmentDefinitionResource {
  readonly code: string
  readonly resource?: readonly { readonly code: string; readonly param?: readonly string[] }[]
}

export interface DefinitionInput {
  readonly structures: readonly StructureDefinition[]
  readonly parameters: readonly SearchParameterResource[]
  readonly compartments: readonly CompartmentDefinitionResource[]
  /** Concrete resource types. */
  readonly types: readonly string[]
}
