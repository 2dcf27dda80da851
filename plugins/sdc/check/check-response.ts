/**
 * Checks a QuestionnaireResponse against its Questionnaire: items, their order and number, answers, and what is enabled.
 * https://hl7.org/fhir/R4/questionnaireresponse.html#link
 */
import type { Issue } from '../../../kernel/index.ts'
import { createCheckAnswer } from './check-answer.ts'
import { checkConstraints } from './check-constraints.ts'
import type { CheckInput, CheckParts, Report } from './check-contract.ts'
import { called, checkNumber, hasAnswer } from './check-number.ts'
import { checkPlaces } from './check-places.ts'
import { createEnablement } from './enablement.ts'
import { createEvaluateAt } from './evaluate-at.ts'
import { type Definition, type Node, readResponseTree } from './response-tree.ts'

const MAX_ISSUES = 200
/** Statuses of responses that are finished, so that all that is required has to be there. */
const FINISHED: ReadonlySet<unknown> = new Set(['completed', 'amended'])

export const checkResponse = async (
  { questionnaire, response }: CheckInput,
  { evaluator, findCodes }: CheckParts,
): Promise<readonly Issue[]> => {
  const issues: Issue[] = []
  const report: Report = (severity, code, path, diagnostics) => {
    if (issues.length < MAX_ISSUES) issues.push({ severity, code, diagnostics, expression: [path] })
  }
  const isFinished = FINISHED.has(response.status)
  const tree = readResponseTree(questionnaire, response)
  const evaluate = evaluator === undefined ? undefined : createEvaluateAt(evaluator, questionnaire, response)
  const isEnabled = createEnablement(tree, evaluate)
  const checkAnswer = createCheckAnswer({
    questionnaire,
    response,
    report,
    findCodes,
    mayMatch: evaluator !== undefined,
  })
  const constraints = evaluate === undefined ? undefined : { evaluate, report, isDraft: !isFinished }
  const asked: Promise<void>[] = []

  const checkNode = (definition: Definition, node: Node): void => {
    const { item } = definition
    const { path, answers, json } = node
    if (answers.length > 0 && (item.type === 'group' || item.type === 'display'))
      report('error', 'structure', path, `The item ${called(definition)} is of type ${item.type}, so it has no answer.`)
    else
      for (const [at, answer] of answers.entries()) {
        const found = checkAnswer(item, answer, `${path}.answer[${at}]`)
        if (found !== undefined) asked.push(found)
      }
    if (item.type !== 'group' && Array.isArray(json.item))
      report(
        'error',
        'structure',
        path,
        `The item ${called(definition)} is no group: what is below it stands in its answers.`,
      )
    if (constraints !== undefined) checkConstraints(item, node, constraints)
  }
  const visit = (parent: Node, definitions: readonly Definition[], holder: readonly Node[], path: string): void => {
    checkPlaces(tree, holder, report)
    const byDefinition = Map.groupBy(holder, ({ definition }) => definition)
    for (const definition of definitions) {
      const nodes = byDefinition.get(definition) ?? []
      const enabled = nodes.length === 0 ? isEnabled(definition, parent, undefined) : undefined
      const live = nodes.filter((node) => {
        const is = isEnabled(definition, parent, node)
        if (is === false && hasAnswer(node))
          report(
            'error',
            'business-rule',
            node.path,
            `The item ${called(definition)} is not enabled, so it has no answer.`,
          )
        return is !== false
      })
      if (nodes.length === 0 ? enabled === true : live.length > 0)
        checkNumber(definition, live, { path, isFinished, report })
      for (const node of live) {
        checkNode(definition, node)
        descend(node, definition)
      }
    }
  }
  /** The items below a group stand together, those below a question at each of its answers. */
  const descend = (node: Node, definition: Definition): void => {
    if (definition.item.type === 'group') {
      visit(node, definition.children, node.children, node.path)
      return
    }
    const byAnswer = Map.groupBy(node.children, ({ answer }) => answer)
    for (const at of node.answers.keys())
      visit(node, definition.children, byAnswer.get(at) ?? [], `${node.path}.answer[${at}]`)
  }
  if (constraints !== undefined) checkConstraints(questionnaire, tree.root, constraints)
  visit(tree.root, tree.definitions, tree.root.children, tree.root.path)
  await Promise.all(asked)
  return issues
}
