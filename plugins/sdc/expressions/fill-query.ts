/** Fills the `{{…}}` of a FHIR query with the values of their expressions. https://hl7.org/fhir/uv/sdc/expressions.html#x-fhir-query */
import type { Evaluator, Variables } from './evaluator.ts'
import { plainValue } from './plain-value.ts'

const EMBEDDED = /\{\{([\s\S]*?)\}\}/g

const toText = (value: unknown): string | undefined => {
  const plain = plainValue(value)
  return typeof plain === 'object' || plain === undefined ? undefined : String(plain)
}

/**
 * Undefined where an embedded expression has no value: a query without it would find what nobody asked for. Several values are
 * joined by commas. Throws ExpressionFailed.
 */
export const fillQuery = (
  query: string,
  evaluator: Evaluator,
  focus: unknown,
  variables: Variables,
  base?: string,
): string | undefined => {
  let isEmpty = false
  const filled = query.replaceAll(EMBEDDED, (_all, expression: string) => {
    const values = evaluator.evaluate(expression.trim(), focus, variables, base).flatMap((one) => toText(one) ?? [])
    if (values.length === 0) isEmpty = true
    return values.map(encodeURIComponent).join(',')
  })
  return isEmpty ? undefined : filled.trim()
}
