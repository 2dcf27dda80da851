/** The declaration of an operation's input parameters, and the values that an invocation passes. */

export type OperationLevel = 'system' | 'type' | 'instance'

/** An input parameter. https://hl7.org/fhir/R4/operationdefinition-definitions.html#OperationDefinition.parameter */
export interface OperationParameter {
  readonly name: string
  /**
   * A FHIR type: `code`, `Coding`, `Patient`; `Resource` for a resource of any type, `Element` for a value of any type.
   * Left out when the parameter consists of parts.
   */
  readonly type?: string
  /** For the type `Element`: a resource of any type is taken as well. */
  readonly orResource?: true
  /** How often the parameter must be given, at least; 0 when left out. */
  readonly min?: number
  /** How often the parameter may be given, at most; 1 when left out. */
  readonly max?: number | '*'
  readonly documentation: string
  readonly part?: readonly OperationParameter[]
}

/**
 * The values of an invocation: primitives as JSON values, data types and resources as objects, parts as nested Inputs.
 */
export interface Inputs {
  /** The first value; undefined when there is none. */
  get<T = unknown>(name: string): T | undefined
  all<T = unknown>(name: string): readonly T[]
  /** Names that were given, are not declared, and were ignored because of `Prefer: handling=lenient`. */
  readonly ignored: readonly string[]
  /** The original JSON of a resource, with the digits of its numbers. */
  json(name: string): string | undefined
}
