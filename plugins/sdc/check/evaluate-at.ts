/** Evaluates expressions of a Questionnaire at an item of a response, with the variables that are there. */
import { type Evaluator, ExpressionFailed, type Variables } from '../expressions/evaluator.ts'
import { plainValue } from '../expressions/plain-value.ts'
import { type Expression, FHIRPATH, variablesOf } from '../questionnaire/extensions.ts'
import type { Json } from '../questionnaire/json.ts'
import type { Node } from './response-tree.ts'

/** The values as JSON; `failed` where they cannot be told, as for launch contexts, which are not there any more. */
export type EvaluateAt = (expression: Expression, node: Node) => readonly unknown[] | 'failed'

export const createEvaluateAt = (evaluator: Evaluator, questionnaire: Json, response: Json): EvaluateAt => {
  const known = new Map<Node, Variables>()
  const evaluate = (
    { language, expression }: Expression,
    node: Node,
    variables: Variables,
  ): readonly unknown[] | 'failed' => {
    if (language !== FHIRPATH) return 'failed'
    try {
      const base = node.parent === undefined ? undefined : 'QuestionnaireResponse.item'
      return evaluator.evaluate(expression, node.json, variables, base)
    } catch (error) {
      if (error instanceof ExpressionFailed) return 'failed'
      throw error
    }
  }
  /** Those of the items around it, and its own. One that cannot be told is left out, so that what uses it fails as well. */
  const variablesAt = (node: Node): Variables => {
    const found = known.get(node)
    if (found !== undefined) return found
    const { parent, definition } = node
    let variables: Variables =
      parent === undefined
        ? { resource: response, rootResource: response, questionnaire }
        : { ...variablesAt(parent), ...(definition === undefined ? {} : { qitem: definition.item }) }
    for (const one of variablesOf(parent === undefined ? questionnaire : (definition?.item ?? {}))) {
      const value = evaluate(one, node, variables)
      const { [one.name]: _hidden, ...others } = variables
      variables = value === 'failed' ? others : { ...others, [one.name]: value }
    }
    known.set(node, variables)
    return variables
  }
  return (expression, node) => {
    const values = evaluate(expression, node, variablesAt(node))
    return values === 'failed' ? values : values.map(plainValue)
  }
}
