/** An input parameter of an operation, as it is declared, and what was given for all of them. */

export type OperationLevel = 'system' | 'type' | 'instance'

/** An input parameter. https://hl7.org/fhir/R4/operationdefinition-definitions.html#OperationDefinition.parameter */
export interface OperationParameter {
  readonly name: string
  /**
   * A FHIR type: `code`, `Coding`, `Patient`; `Resource` for a resource of any type, `Element` for a value of any type.
   * Left out for one that consists of parts.
   */
  readonly type?: string
  /** How often it has to be there; 0 when left out. */
  readonly min?: number
  /** How often it may be there; once when left out. */
  readonly max?: number | '*'
  readonly documentation: string
  readonly part?: readonly OperationParameter[]
}

/** What was given: values in JSON's own types, data types and resources as objects, parts as Inputs of their own. */
export interface Inputs {
  /** The first value; undefined when there is none. */
  get<T = unknown>(name: string): T | undefined
  all<T = unknown>(name: string): readonly T[]
  /** The JSON a resource was sent as, digits of its numbers included. */
  json(name: string): string | undefined
}
