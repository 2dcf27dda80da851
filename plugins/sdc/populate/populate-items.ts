/** Makes the items of a QuestionnaireResponse, with the answers that expressions and Observations give. */
import type { Evaluator, Variables } from '../expressions/evaluator.ts'
import { type ExpressionResolver, withoutBundles } from '../expressions/expression-resolver.ts'
import type { IssueList } from '../expressions/issue-list.ts'
import { extensionValue, readExpression, URLS, variablesOf } from '../questionnaire/extensions.ts'
import { type Item, itemsOf } from '../questionnaire/items.ts'
import type { Json } from '../questionnaire/json.ts'
import { JobRefused } from '../threads/job-refused.ts'
import { findObservation } from './find-observation.ts'
import { type FindCodes, initialAnswers, isLinkedToObservations, toAnswer } from './to-answers.ts'

const BASE = 'QuestionnaireResponse.item'
const MAX_ITEMS = 20_000

export interface ItemParts {
  readonly evaluator: Evaluator
  readonly resolver: ExpressionResolver
  readonly issues: IssueList
  readonly findCodes: FindCodes
  /** Where Observations are searched: undefined where they are not. */
  readonly observations: { readonly subject: string; readonly now: string } | undefined
}

export const createPopulateItems = (parts: ItemParts) => {
  const { evaluator, resolver, issues, findCodes, observations } = parts
  let made = 0

  /** The element without items and answers. */
  const headOf = ({ linkId, definition, text }: Item): Json => {
    made += 1
    if (made > MAX_ITEMS) throw new JobRefused('too-costly', `more than ${MAX_ITEMS} items`)
    return { linkId, ...(definition === undefined ? {} : { definition }), ...(text === undefined ? {} : { text }) }
  }
  const withOwnVariables = async (item: Item, variables: Variables): Promise<Variables> => {
    let own: Variables = { ...variables, qitem: item }
    const focus = { linkId: item.linkId }
    for (const one of variablesOf(item)) {
      const place = { focus, base: BASE, variables: own, linkId: item.linkId }
      own = { ...own, [one.name]: await resolver.resolve(one, place) }
    }
    return own
  }

  /** The values of an Observation, with their type. */
  const observedValues = async (item: Item): Promise<readonly unknown[]> => {
    if (observations === undefined || !isLinkedToObservations(item)) return []
    const found = await findObservation(item, { resolver, ...observations })
    return found === undefined ? [] : evaluator.evaluate('Observation.value', found, {})
  }

  const answersOf = async (item: Item, variables: Variables): Promise<readonly Json[]> => {
    const { linkId } = item
    const initial = readExpression(extensionValue(item, URLS.initialExpression))
    const place = { focus: { linkId }, base: BASE, variables, linkId }
    const values = initial === undefined ? [] : withoutBundles(await resolver.resolve(initial, place))
    const found = values.length > 0 ? values : await observedValues(item)
    if (found.length === 0) return initialAnswers(item)
    const answers: Json[] = []
    for (const value of found) {
      const answer = await toAnswer(item, value, findCodes)
      if (answer !== undefined) answers.push(answer)
      else issues.add('warning', 'value', `A value was left out, because it is none of type ${item.type}.`, linkId)
    }
    if (item.repeats === true || answers.length < 2) return answers
    issues.add(
      'warning',
      'multiple-matches',
      `There are ${answers.length} values and the item does not repeat, so the first was taken.`,
      linkId,
    )
    return answers.slice(0, 1)
  }

  const question = async (item: Item, variables: Variables): Promise<Json> => {
    const answers: Json[] = []
    for (const answer of await answersOf(item, variables)) {
      const below = await all(itemsOf(item), variables)
      answers.push(below.length === 0 ? answer : { ...answer, item: below })
    }
    return { ...headOf(item), ...(answers.length === 0 ? {} : { answer: answers }) }
  }

  const groups = async (item: Item, variables: Variables): Promise<readonly Json[]> => {
    const { linkId } = item
    const context = readExpression(extensionValue(item, URLS.itemPopulationContext))
    const one = async (own: Variables): Promise<Json> => {
      const below = await all(itemsOf(item), own)
      return { ...headOf(item), ...(below.length === 0 ? {} : { item: below }) }
    }
    if (context === undefined) return [await one(variables)]
    const place = { focus: { linkId }, base: BASE, variables, linkId }
    const found = withoutBundles(await resolver.resolve(context, place))
    if (found.length > 1 && item.repeats !== true)
      issues.add(
        'warning',
        'multiple-matches',
        `The context has ${found.length} values and the group does not repeat, so the first was taken.`,
        linkId,
      )
    const used = item.repeats === true ? found : found.slice(0, 1)
    const made: Json[] = []
    for (const value of used.length === 0 ? [undefined] : used) {
      const named = value === undefined ? [] : [value]
      made.push(await one(context.name === undefined ? variables : { ...variables, [context.name]: named }))
    }
    return made
  }

  const all = async (items: readonly Item[], variables: Variables): Promise<readonly Json[]> => {
    const made: Json[] = []
    for (const item of items) {
      if (item.type === 'display') {
        made.push(headOf(item))
        continue
      }
      const own = await withOwnVariables(item, variables)
      if (item.type === 'group') made.push(...(await groups(item, own)))
      else made.push(await question(item, own))
    }
    return made
  }
  return all
}
