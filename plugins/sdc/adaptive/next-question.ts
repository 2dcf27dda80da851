/** Adds the next question to an adaptive form. https://hl7.org/fhir/uv/sdc/adaptive.html */
import type { CheckParts } from '../check/check-contract.ts'
import { checkResponse } from '../check/check-response.ts'
import { createEnablement } from '../check/enablement.ts'
import { createEvaluateAt } from '../check/evaluate-at.ts'
import { type Definition, type Node, type ResponseTree, readResponseTree } from '../check/response-tree.ts'
import { type Item, itemsOf } from '../questionnaire/items.ts'
import { type Json, objectsIn } from '../questionnaire/json.ts'
import { JobRefused } from '../threads/job-refused.ts'
import type { NextQuestion, NextQuestionInput } from './next-question-contract.ts'

const linkIdsIn = (parent: Json): readonly string[] =>
  itemsOf(parent).flatMap((item) => [item.linkId, ...linkIdsIn(item)])

/** The item of the response that stands for a definition, or what is around it. */
const nodeOf = (tree: ResponseTree, definition: Definition | undefined): Node => {
  if (definition === undefined) return tree.root
  return tree.below(tree.root, definition.item.linkId)[0] ?? nodeOf(tree, definition.parent)
}

/** The items that are shown: those of `shown`, with the groups around them; displays up to the last of them, or all. */
const pruned = (items: readonly Item[], shown: ReadonlySet<string>, isComplete: boolean): readonly Item[] => {
  const kept: Item[] = []
  let displays: Item[] = []
  for (const item of items) {
    if (item.type === 'display') {
      displays.push(item)
      continue
    }
    const below = pruned(itemsOf(item), shown, isComplete)
    if (!shown.has(item.linkId) && !below.some(({ type }) => type !== 'display')) continue
    const { item: _item, ...bare } = item
    kept.push(...displays, below.length === 0 ? (bare as Item) : { ...(bare as Item), item: below })
    displays = []
  }
  return isComplete ? [...kept, ...displays] : kept
}

/** Throws JobRefused where the answers so far do not fit. */
export const nextQuestion = async (input: NextQuestionInput, parts: CheckParts): Promise<NextQuestion> => {
  const { response, contained, questionnaire } = input
  const soFar = { questionnaire: contained, response: { ...response, status: 'completed' } }
  const [wrong] = (await checkResponse(soFar, parts)).filter(({ severity }) => severity === 'error')
  if (wrong !== undefined)
    throw new JobRefused(
      'response',
      'next-question',
      `the answers so far do not fit: ${wrong.diagnostics.replace(/\.$/, '')}`,
    )

  const tree = readResponseTree(questionnaire, response)
  const evaluate =
    parts.evaluator === undefined ? undefined : createEvaluateAt(parts.evaluator, questionnaire, response)
  const isEnabled = createEnablement(tree, evaluate)
  const asked = new Set(linkIdsIn(contained))
  const find = (definitions: readonly Definition[]): Definition | undefined => {
    for (const definition of definitions) {
      const { item, parent, children } = definition
      if (item.type === 'display' || isEnabled(definition, nodeOf(tree, parent), undefined) === false) continue
      if (item.type !== 'group') {
        if (!asked.has(item.linkId)) return definition
        const isAnswered = tree.below(tree.root, item.linkId).some(({ answers }) => answers.length > 0)
        if (!isAnswered) continue
      }
      const found = find(children)
      if (found !== undefined) return found
    }
    return undefined
  }
  const next = find(tree.definitions)
  const shown = new Set(next === undefined ? asked : [...asked, next.item.linkId])
  const items = pruned(itemsOf(questionnaire), shown, next === undefined)
  const brought = objectsIn(questionnaire.contained).filter(
    ({ id }) => !objectsIn(response.contained).some((one) => one.id === id),
  )
  return {
    response: {
      ...response,
      contained: [
        ...objectsIn(response.contained).map((one) => (one.id === contained.id ? { ...one, item: items } : one)),
        ...brought,
      ],
      ...(next === undefined ? { status: 'completed' } : {}),
    },
  }
}
