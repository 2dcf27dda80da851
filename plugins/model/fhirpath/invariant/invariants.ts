/**
 * Compiles invariants, the FHIRPath conditions of definitions. Most become functions over JSON (compile.ts). The others are
 * evaluated by fhirpath.js, which is loaded when a resource first needs one of them.
 * https://hl7.org/fhir/R4/conformance-rules.html#constraints
 */

import type { Constraint } from '../../snapshot/structure-definition.ts'
import { NotSupported } from '../parse.ts'
import { charge, type EvaluationBudget } from './budget.ts'
import { type CompiledExpression, type EvaluationContext, type StaticType, testOf } from './code.ts'
import { createExpressionCompiler } from './compile.ts'
import { hasNoSideEffects } from './has-no-side-effects.ts'
import { Pending, type TypeFieldsOf } from './type-fields-of.ts'
import { toBoolean } from './values.ts'

/** fhirpath.js with the model of R4. */
export interface Interpreter {
  compile(expression: string, base: string): (value: unknown, variables: Record<string, unknown>) => unknown[]
}

/** The element that an invariant is defined on. */
export interface InvariantSubject {
  readonly kinds: readonly StaticType[]
  /** Name of the type that defines the element, e.g. `Patient` for Patient.contact. */
  readonly type: string
  readonly isResource: boolean
  /** Path of the element, which fhirpath.js needs, e.g. `Patient.contact`. */
  readonly path: string
}

/**
 * True: the element satisfies the invariant. False: it breaks it. Undefined: the invariant gives no result or could not be
 * evaluated, and refuses nothing. Throws only BudgetExceeded.
 */
export type Invariant = (value: unknown, resource: unknown, root: unknown) => boolean | undefined

/** Keys of invariants that the structure check implements itself, so their expressions are not evaluated. */
const NATIVE = new Set(['ele-1', 'ext-1', 'dom-2', 'dom-3', 'dom-4', 'dom-5', 'dom-6', 'txt-1', 'txt-2', 'ref-1'])
const CORE = 'http://hl7.org/fhir/StructureDefinition/'

/** Invariants of R4 whose expression does not do what their text says, with the effect it has. They are not evaluated. */
const BROKEN: Readonly<Record<string, string>> = {
  // Intended: only a problem list item needs a clinicalStatus. But `category.select(…).empty()` is false for every Condition
  // with a category, because `select` gives a boolean for each of them.
  'con-3': 'warns of every Condition without clinicalStatus',
}

export const isCheckedNatively = ({ key, source, expression }: Constraint): boolean =>
  expression === undefined ||
  ((source === undefined || source.startsWith(CORE)) && (NATIVE.has(key) || Object.hasOwn(BROKEN, key)))

export interface InvariantTools {
  readonly typeFieldsOf: TypeFieldsOf
  readonly interpreter: () => Interpreter | null
  /** The budget of one resource, shared by all its invariants. */
  readonly work: EvaluationBudget
}

/** Items charged for one evaluation by fhirpath.js, which takes about as long as compiled code takes for this many. */
const SLOW_COST = 1000

/** `interpreter` returns null while fhirpath.js is not loaded; the caller then loads it and validates again. */
export const createInvariants = ({ typeFieldsOf, interpreter, work }: InvariantTools) => {
  const slow = (expression: string, { path }: InvariantSubject): Invariant => {
    if (!hasNoSideEffects(expression)) return () => undefined
    let evaluate: ReturnType<Interpreter['compile']> | undefined
    let isHopeless = false
    return (value, resource, root) => {
      const loaded = interpreter()
      if (loaded === null || isHopeless) return undefined
      charge(work, SLOW_COST)
      try {
        evaluate ??= loaded.compile(expression, path)
      } catch {
        isHopeless = true // fhirpath.js cannot parse it either
        return undefined
      }
      try {
        return toBoolean(evaluate(value, { resource, rootResource: root, context: value }))
      } catch {
        return undefined // fhirpath.js throws when an operator is not defined for the values
      }
    }
  }

  /** Throws Pending if the definition of a type that the expression reads is not loaded yet. */
  const fast = (expression: string, { kinds, type, isResource }: InvariantSubject, fallback: Invariant): Invariant => {
    let compiled: CompiledExpression
    try {
      compiled = createExpressionCompiler(typeFieldsOf, type, isResource)(expression, kinds)
    } catch (error) {
      if (error instanceof NotSupported) return fallback
      throw error
    }
    const test = testOf(compiled)
    return (value, resource, root) => {
      const scope: EvaluationContext = { resource, root, context: value, work }
      try {
        return test(scope, [value])
      } catch (error) {
        if (error instanceof NotSupported) return fallback(value, resource, root)
        throw error
      }
    }
  }

  /** Returns null if a definition that the invariant needs is not loaded yet. */
  return (expression: string, subject: InvariantSubject): Invariant | null => {
    try {
      return fast(expression, subject, slow(expression, subject))
    } catch (error) {
      if (error instanceof Pending) return null
      throw error
    }
  }
}
