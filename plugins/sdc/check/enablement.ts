/** Whether items are enabled by the answers of a response. https://hl7.org/fhir/R4/questionnaire-definitions.html#Questionnaire.item.enableWhen */
import { extensionValue, readExpression, URLS, valueIn, valueKeyOf } from '../questionnaire/extensions.ts'
import { type Json, objectsIn } from '../questionnaire/json.ts'
import type { EvaluateAt } from './evaluate-at.ts'
import type { Definition, Node, ResponseTree } from './response-tree.ts'
import { compareValues, isSameValue } from './same-value.ts'

/** True, false, or undefined where an expression does not tell. */
export type IsEnabled = (definition: Definition, parent: Node, node: Node | undefined) => boolean | undefined

const meets = (condition: Json, answers: readonly unknown[]): boolean => {
  const key = Object.keys(condition).find((one) => one.startsWith('answer'))
  const wanted = key === undefined ? undefined : condition[key]
  const some = (test: (difference: number) => boolean): boolean =>
    answers.some((answer) => {
      const difference = compareValues(answer, wanted, key)
      return difference !== undefined && test(difference)
    })
  switch (condition.operator) {
    case 'exists':
      return answers.length > 0 === (wanted !== false)
    case '=':
      return answers.some((answer) => isSameValue(answer, wanted, key))
    case '!=':
      return answers.some((answer) => !isSameValue(answer, wanted, key))
    case '>':
      return some((difference) => difference > 0)
    case '<':
      return some((difference) => difference < 0)
    case '>=':
      return some((difference) => difference >= 0)
    case '<=':
      return some((difference) => difference <= 0)
    default:
      return false
  }
}

/** The item of the response around an item that also is around the question: the nearest answers count. */
const scopeOf = (parent: Node, asking: Definition, question: Definition): Node => {
  const around = new Set<Definition>()
  for (let one = question.parent; one !== undefined; one = one.parent) around.add(one)
  let scope: Node = parent
  while (scope.parent !== undefined && (scope.definition === undefined || !around.has(scope.definition))) {
    if (scope.definition === question && asking.parent === question) return scope
    scope = scope.parent
  }
  return scope
}

/** `evaluate` is undefined where no expressions are evaluated. */
export const createEnablement = (tree: ResponseTree, evaluate: EvaluateAt | undefined): IsEnabled => {
  const answersTo = (linkId: string, asking: Definition, parent: Node): readonly unknown[] => {
    const question = tree.find(linkId)
    if (question === undefined) return []
    const scope = scopeOf(parent, asking, question)
    const nodes = scope.definition === question ? [scope] : tree.below(scope, linkId)
    return nodes.flatMap(({ answers }) => answers.filter((one) => valueKeyOf(one) !== undefined).map(valueIn))
  }
  return (definition, parent, node) => {
    const { item } = definition
    const expression = readExpression(extensionValue(item, URLS.enableWhenExpression))
    if (expression !== undefined) {
      const found = evaluate?.(expression, node ?? parent)
      return found === undefined || found === 'failed' ? undefined : found[0] === true
    }
    const conditions = objectsIn(item.enableWhen)
    if (conditions.length === 0) return true
    const isMet = (one: Json): boolean => meets(one, answersTo(String(one.question), definition, parent))
    return item.enableBehavior === 'all' ? conditions.every(isMet) : conditions.some(isMet)
  }
}
