/** What SearchParameters and CompartmentDefinitions come to once they are compiled, as it is stored, and what they are made from. */
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

/** One thing that is indexed: the values of an expression in a resource type, under one kind. */
export interface StoredColumn {
  readonly type: string
  readonly kind: IndexKind | 'composite' | 'alias'
  /** One spelling of the expression; with type and kind the column's identity. */
  readonly expression: string
  readonly branches: readonly ElementPath[]
  /** Left to fhirpath.js. */
  readonly exotic?: true
  readonly components?: readonly StoredComponent[]
  /** An alias has no rows: it tells that its column has a reference to this type. */
  readonly of?: { readonly expression: string; readonly refers: string }
}

export interface StoredParameter {
  readonly code: string
  readonly url: string
  readonly type: ParameterType
  readonly base: string
  /** Places in the list of columns. `refers` narrows a reference to one type; `present` is its alias. */
  readonly columns: readonly { readonly column: number; readonly refers?: string; readonly present?: number }[]
  readonly targets: readonly string[]
  readonly components: readonly IndexKind[]
}

/** A column of the references and the tokens of two others, by their places in the list. */
export interface PatientCodeColumn {
  readonly column: number
  readonly reference: number
  readonly token: number
}

export interface SearchDefinitions {
  readonly columns: readonly StoredColumn[]
  readonly parameters: readonly StoredParameter[]
  /** Type → place of the column with the canonical names of its resources. */
  readonly canonicals: Readonly<Record<string, number>>
  /** Columns that hold the patient and the code of a resource together. */
  readonly pairs: readonly PatientCodeColumn[]
  /** Compartment → type → codes of the parameters that put a resource in it; `{def}` is the type itself. */
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
