/** A compiled FHIRPath expression: what it is evaluated in, and what is known of what it yields. */
import type { ElementBlock, Field, TypeFields } from '../../snapshot/fields.ts'
import type { EvaluationBudget } from './budget.ts'
import { asBoolean, type Collection, toBoolean } from './values.ts'

/** What an expression is evaluated in. */
export interface EvaluationContext {
  /** The resource the element is in: %resource. */
  readonly resource: unknown
  /** The resource that contains that one, or the same: %rootResource. */
  readonly root: unknown
  /** What the expression started from: %context. */
  readonly context: unknown
  readonly work: EvaluationBudget
}

export type Evaluate = (scope: EvaluationContext, focus: Collection) => Collection
/** Three-valued, as `toBoolean` of what Run yields; the usual rules ask for no more, and lists are not made for it. */
export type CompiledTest = (scope: EvaluationContext, focus: Collection) => boolean | undefined

/** A type an expression may yield: a primitive, a data type, elements defined in place, or any resource. */
export type StaticType =
  | { readonly kind: 'primitive'; readonly name: string }
  | { readonly kind: 'complex'; readonly name: string }
  | { readonly kind: 'block'; readonly name: string; readonly shape: TypeFields; readonly block: ElementBlock }
  | { readonly kind: 'resource'; readonly name: string }

/** `kinds` undefined: nothing is known, and what is asked of it is Unsupported. */
export interface CompiledExpression {
  readonly run: Evaluate
  readonly kinds: readonly StaticType[] | undefined
  readonly test?: CompiledTest
  /** Whether anything is yielded. */
  readonly exists?: (scope: EvaluationContext, focus: Collection) => boolean
  /** The field this is the value of, when it is one: its types can be told apart by the names of its members. */
  readonly field?: { readonly on: CompiledExpression; readonly fields: readonly FieldOf[] }
}

export interface FieldOf {
  readonly shape: TypeFields
  readonly field: Field
}

const BOOLEAN: readonly StaticType[] = [{ kind: 'primitive', name: 'boolean' }]

/** What yields a Boolean or nothing. */
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
