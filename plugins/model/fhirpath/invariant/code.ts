/** A compiled FHIRPath expression: what it is evaluated in, and what is known of what it yields. */
import type { Block, Field, Shape } from '../../snapshot/fields.ts'
import type { Work } from './budget.ts'
import { type Collection, toBoolean, truth } from './values.ts'

/** What an expression is evaluated in. */
export interface Scope {
  /** The resource the element is in: %resource. */
  readonly resource: unknown
  /** The resource that contains that one, or the same: %rootResource. */
  readonly root: unknown
  /** What the expression started from: %context. */
  readonly context: unknown
  readonly work: Work
}

export type Run = (scope: Scope, focus: Collection) => Collection
/** Three-valued, as `toBoolean` of what Run yields; the usual rules ask for no more, and lists are not made for it. */
export type Test = (scope: Scope, focus: Collection) => boolean | undefined

/** A type an expression may yield: a primitive, a data type, elements defined in place, or any resource. */
export type Kind =
  | { readonly kind: 'primitive'; readonly name: string }
  | { readonly kind: 'complex'; readonly name: string }
  | { readonly kind: 'block'; readonly name: string; readonly shape: Shape; readonly block: Block }
  | { readonly kind: 'resource'; readonly name: string }

/** `kinds` undefined: nothing is known, and what is asked of it is Unsupported. */
export interface Compiled {
  readonly run: Run
  readonly kinds: readonly Kind[] | undefined
  readonly test?: Test
  /** Whether anything is yielded. */
  readonly exists?: (scope: Scope, focus: Collection) => boolean
  /** The field this is the value of, when it is one: its types can be told apart by the names of its members. */
  readonly field?: { readonly on: Compiled; readonly fields: readonly FieldOf[] }
}

export interface FieldOf {
  readonly shape: Shape
  readonly field: Field
}

const BOOLEAN: readonly Kind[] = [{ kind: 'primitive', name: 'boolean' }]

/** What yields a Boolean or nothing. */
export const tested = (test: Test): Compiled => ({
  kinds: BOOLEAN,
  test,
  run: (scope, focus) => truth(test(scope, focus)),
})

export const testOf = ({ test, run }: Compiled): Test => test ?? ((scope, focus) => toBoolean(run(scope, focus)))

export const existsOf = ({ exists, run }: Compiled): ((scope: Scope, focus: Collection) => boolean) =>
  exists ?? ((scope, focus) => run(scope, focus).length > 0)
