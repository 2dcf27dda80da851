/** The parts of a compiled FHIRPath expression: its functions, the context they run in, and the static types of its result. */
import type { ElementBlock, Field, TypeFields } from '../../snapshot/fields.ts'
import type { EvaluationBudget } from './budget.ts'
import { asBoolean, type Collection, toBoolean } from './values.ts'

/** The environment variables of one evaluation, and what it may cost. */
export interface EvaluationContext {
  /** %resource: the resource that the element belongs to. */
  readonly resource: unknown
  /** %rootResource: the resource that contains `resource`, or `resource` itself. */
  readonly root: unknown
  /** %context: the value at which the expression started. */
  readonly context: unknown
  readonly work: EvaluationBudget
}

export type Evaluate = (scope: EvaluationContext, focus: Collection) => Collection
/**
 * Gives the result of Evaluate as a boolean, undefined for an empty collection. It makes no list, and most invariants need
 * nothing else.
 */
export type CompiledTest = (scope: EvaluationContext, focus: Collection) => boolean | undefined

/** A type of an expression's result: a primitive, a data type, elements defined in place (`block`), or any resource. */
export type StaticType =
  | { readonly kind: 'primitive'; readonly name: string }
  | { readonly kind: 'complex'; readonly name: string }
  | { readonly kind: 'block'; readonly name: string; readonly shape: TypeFields; readonly block: ElementBlock }
  | { readonly kind: 'resource'; readonly name: string }

/** `kinds` are the possible types of the result. If undefined they are unknown: most operations then throw NotSupported. */
export interface CompiledExpression {
  readonly run: Evaluate
  readonly kinds: readonly StaticType[] | undefined
  readonly test?: CompiledTest
  /** Whether the result has any item. */
  readonly exists?: (scope: EvaluationContext, focus: Collection) => boolean
  /** Set if the expression reads a field: the types of a choice can then be distinguished by their member names in JSON. */
  readonly field?: { readonly on: CompiledExpression; readonly fields: readonly FieldOf[] }
}

export interface FieldOf {
  readonly shape: TypeFields
  readonly field: Field
}

const BOOLEAN: readonly StaticType[] = [{ kind: 'primitive', name: 'boolean' }]

/** Makes an expression of a test: its result is one boolean, or empty. */
export const asTest = (test: CompiledTest): CompiledExpression => ({
  kinds: BOOLEAN,
  test,
  run: (scope, focus) => asBoolean(test(scope, focus)),
})

export const testOf = ({ test, run }: CompiledExpression): CompiledTest =>
  test ?? ((scope, focus) => toBoolean(run(scope, focus)))

export const existsOf = ({
  exists,
  run,
}: CompiledExpression): ((scope: EvaluationContext, focus: Collection) => boolean) =>
  exists ?? ((scope, focus) => run(scope, focus).length > 0)
