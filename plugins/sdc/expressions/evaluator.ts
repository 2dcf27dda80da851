/** Evaluates FHIRPath with variables. http://hl7.org/fhirpath/N1/, https://hl7.org/fhir/uv/sdc/expressions.html */
import { type Engine, hasNoSideEffects } from '../../model/thread-service.ts'

/** Values by name, without `%`. A value is a list of nodes, or a resource as JSON. */
export type Variables = Readonly<Record<string, unknown>>

/** Thrown for an expression that cannot be parsed, evaluated, or given to fhirpath.js. The message is for clients. */
export class ExpressionFailed extends Error {}

export interface Evaluator {
  /**
   * `focus`: a node of an earlier evaluation, a list of them, a resource as JSON; an element as JSON needs its path as
   * `base`, such as `QuestionnaireResponse.item`. Returns nodes, of which `plainValue` makes JSON. Throws ExpressionFailed.
   */
  evaluate(expression: string, focus: unknown, variables: Variables, base?: string): readonly unknown[]
}

/** Functions that SDC adds to FHIRPath. Without `async` they use only what is in the resources at hand. */
const SDC_FUNCTIONS: ReadonlySet<string> = new Set(['weight', 'ordinal', 'sort', 'coalesce'])
const MAX_LENGTH = 10_000 // characters
const MAX_COMPILED = 1_000

type Compiled = ReturnType<Engine['compile']>

const shortened = (expression: string): string =>
  expression.length > 200 ? `${expression.slice(0, 200)}…` : expression

export const createEvaluator = (engine: Engine): Evaluator => {
  const compiled = new Map<string, Compiled>()
  const compile = (expression: string, base: string | undefined): Compiled => {
    const key = `${base ?? ''} ${expression}`
    const known = compiled.get(key)
    if (known !== undefined) return known
    if (expression.length > MAX_LENGTH)
      throw new ExpressionFailed(`The expression "${shortened(expression)}" has more than ${MAX_LENGTH} characters.`)
    const isAllowed = hasNoSideEffects(expression, { functions: SDC_FUNCTIONS, isVariable: () => true })
    if (!isAllowed)
      throw new ExpressionFailed(
        `The expression "${shortened(expression)}" uses a function that is not performed here.`,
      )
    const options = { resolveInternalTypes: false, traceFn: () => undefined }
    const made = engine.compile(base === undefined ? expression : { base, expression }, options)
    if (compiled.size < MAX_COMPILED) compiled.set(key, made)
    return made
  }
  return {
    evaluate(expression, focus, variables, base) {
      try {
        return compile(expression, base)(focus, { ...variables })
      } catch (error) {
        if (error instanceof ExpressionFailed) throw error
        const why = error instanceof Error ? error.message.slice(0, 300) : String(error)
        throw new ExpressionFailed(`The expression "${shortened(expression)}" cannot be evaluated: ${why}`)
      }
    },
  }
}
