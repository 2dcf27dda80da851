/**
 * Invariants: FHIRPath conditions of definitions, compiled once. Most become functions over JSON (compile.ts);
 * the rest is fhirpath.js's, which is loaded when the first of them is met.
 * https://hl7.org/fhir/R4/conformance-rules.html#constraints
 */

import type { Constraint } from '../../snapshot/structure-definition.ts'
import { NotSupported } from '../parse.ts'
import { charge, type EvaluationBudget } from './budget.ts'
import { type CompiledExpression, type EvaluationContext, type StaticType, testOf } from './code.ts'
import { createExpressionCompiler, Pending, type TypeFieldsOf } from './compile.ts'
import { hasNoSideEffects } from './has-no-side-effects.ts'
import { toBoolean } from './values.ts'

/** fhirpath.js with the model of R4. */
export interface Interpreter {
  compile(expression: string, base: string): (value: unknown, variables: Record<string, unknown>) => unknown[]
}

/** What a condition is about. */
export interface InvariantSubject {
  readonly kinds: readonly StaticType[]
  /** Name of the type it is defined in, e.g. `Patient` for Patient.contact. */
  readonly type: string
  readonly isResource: boolean
  /** For fhirpath.js: the path of the element, e.g. `Patient.contact`. */
  readonly path: string
}

/** False: the element breaks it. Undefined: it says nothing of this element. Throws BudgetExceeded, and nothing else. */
export type Invariant = (value: unknown, resource: unknown, root: unknown) => boolean | undefined

/** Checked by hand where the structure is checked. */
const NATIVE = new Set(['ele-1', 'ext-1', 'dom-2', 'dom-3', 'dom-4', 'dom-5', 'dom-6', 'txt-1', 'txt-2', 'ref-1'])
const CORE = 'http://hl7.org/fhir/StructureDefinition/'

/** Invariants of R4 that say something else than what they are meant to, each with the reason. They are left out. */
const BROKEN: Readonly<Record<string, string>> = {
  // Meant: only a problem list item needs a clinicalStatus. `select` gives a list of Booleans, which is never empty.
  'con-3': 'warns of every Condition without clinicalStatus',
}

export const isCheckedNatively = ({ key, source, expression }: Constraint): boolean =>
  expression === undefined ||
  ((source === undefined || source.startsWith(CORE)) && (NATIVE.has(key) || Object.hasOwn(BROKEN, key)))

export interface InvariantTools {
  readonly typeFieldsOf: TypeFieldsOf
  readonly interpreter: () => Interpreter | null
  /** Shared by all that is evaluated for one resource. */
  readonly work: EvaluationBudget
}

/** fhirpath.js takes as long for one evaluation as we for that many items. */
const SLOW_COST = 1000

/** `engine` answers null while fhirpath.js is not loaded; then the validation is run again. */
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
        isHopeless = true // not even fhirpath.js understands it
        return undefined
      }
      try {
        return toBoolean(evaluate(value, { resource, rootResource: root, context: value }))
      } catch {
        return undefined // an operator met what it is not defined for
      }
    }
  }

  /** Throws Pending when the definition of a type it goes through is not known yet. */
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

  /** Null when a definition it needs is not known yet. */
  return (expression: string, subject: InvariantSubject): Invariant | null => {
    try {
      return fast(expression, subject, slow(expression, subject))
    } catch (error) {
      if (error instanceof Pending) return null
      throw error
    }
  }
}
