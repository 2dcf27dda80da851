/** Checks the constraints of a Questionnaire and its items, which are FHIRPath. */
import { extensionsOf, partOf, readExpression, URLS } from '../questionnaire/extensions.ts'
import { type Json, textOf } from '../questionnaire/json.ts'
import type { Report } from './check-contract.ts'
import type { EvaluateAt } from './evaluate-at.ts'
import type { Node } from './response-tree.ts'

export interface ConstraintParts {
  readonly evaluate: EvaluateAt
  readonly report: Report
  /** An answer that is being written may break constraints: errors are warnings. */
  readonly isDraft: boolean
}

/** `element`: the Questionnaire, or the item of the node. */
export const checkConstraints = (element: Json, node: Node, { evaluate, report, isDraft }: ConstraintParts): void => {
  const constraints = [URLS.targetConstraint, URLS.questionnaireConstraint].flatMap((url) => extensionsOf(element, url))
  for (const one of constraints) {
    const expression = readExpression(partOf(one, 'expression'))
    if (expression === undefined) continue
    const key = String(partOf(one, 'key') ?? 'constraint').slice(0, 64)
    const found = evaluate(expression, node)
    if (found === 'failed')
      report(
        'information',
        'informational',
        node.path,
        `The constraint ${key} was not checked: its expression cannot be evaluated here.`,
      )
    else if (found.length > 0 && found.every((value) => value === true)) continue
    else {
      const severity = partOf(one, 'severity') === 'error' && !isDraft ? 'error' : 'warning'
      const human = textOf(partOf(one, 'human')) ?? expression.expression
      report(severity, 'invariant', node.path, `${key}: ${human.slice(0, 500)}`)
    }
  }
}
