/** Checks how often an item is answered: required, repeats, minOccurs and maxOccurs. */
import { extensionValue, URLS } from '../questionnaire/extensions.ts'
import type { Report } from './check-contract.ts'
import type { Definition, Node } from './response-tree.ts'

export const hasAnswer = ({ answers, children }: Node): boolean => answers.length > 0 || children.some(hasAnswer)
/** The item for messages. */
export const called = ({ item }: Definition): string => `"${item.linkId.slice(0, 100)}"`

const numberOf = ({ item }: Definition, url: string): number | undefined => {
  const value = extensionValue(item, url)
  return typeof value === 'number' ? value : undefined
}

export interface NumberParts {
  /** Of what is around the item. */
  readonly path: string
  /** What is required has to be there. */
  readonly isFinished: boolean
  readonly report: Report
}

/** `nodes`: the enabled items of the response for one item of the Questionnaire, at one place. */
export const checkNumber = (
  definition: Definition,
  nodes: readonly Node[],
  { path, isFinished, report }: NumberParts,
): void => {
  const { item } = definition
  const isGroup = item.type === 'group'
  const count = isGroup ? nodes.length : nodes.reduce((sum, { answers }) => sum + answers.length, 0)
  const least = Math.max(item.required === true ? 1 : 0, numberOf(definition, URLS.minOccurs) ?? 0)
  const most = numberOf(definition, URLS.maxOccurs)
  const what = isGroup ? 'times' : 'answers'
  const answered = isGroup ? nodes.filter(hasAnswer).length : count
  if (isFinished && answered < least)
    report(
      'error',
      'required',
      path,
      `The item ${called(definition)} is required${least > 1 ? ` ${least} ${what}` : ''}; ${answered} ${answered === 1 ? 'is' : 'are'} there.`,
    )
  const allowed = item.repeats === true ? (most ?? Number.POSITIVE_INFINITY) : 1
  const at = nodes[1]?.path ?? nodes[0]?.path ?? path
  if (count > allowed)
    report(
      'error',
      'structure',
      at,
      `The item ${called(definition)} has ${count} ${what}; at most ${allowed} ${allowed === 1 ? 'is' : 'are'} allowed.`,
    )
  else if (!isGroup && nodes.length > 1)
    report('error', 'structure', at, `The answers to the item ${called(definition)} stand in one item of the response.`)
}
