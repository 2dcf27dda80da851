/** Extracts resources from a QuestionnaireResponse. https://hl7.org/fhir/uv/sdc/extraction.html */
import type { Evaluator, Variables } from '../expressions/evaluator.ts'
import { createExpressionResolver } from '../expressions/expression-resolver.ts'
import { createIssueList } from '../expressions/issue-list.ts'
import { plainValue } from '../expressions/plain-value.ts'
import { extensionsOf, extensionValue, URLS, valueIn, variablesOf } from '../questionnaire/extensions.ts'
import { itemsOf } from '../questionnaire/items.ts'
import { isObject, type Json, objectsIn, textOf } from '../questionnaire/json.ts'
import type { Ask } from '../threads/ask.ts'
import { JobRefused } from '../threads/job-refused.ts'
import { type EntryParts, entryAsked } from './bundle-entry.ts'
import { createDefinitionExtraction, type ExtractPlace } from './definition-based.ts'
import { type Builder, type DefinitionState, NO_BUILDERS } from './element-setter.ts'
import { createElementShapes } from './element-shapes.ts'
import type { Extracted, ExtractInput } from './extract-contract.ts'
import {
  createObservationExtraction,
  type MadeObservation,
  NO_OBSERVATIONS,
  type ObservationState,
  observationStateOf,
} from './observation-based.ts'
import { createTemplateEntries } from './template-entries.ts'
import { withoutEmpty } from './without-empty.ts'

interface State {
  readonly observations: ObservationState
  readonly definitions: DefinitionState
}

const hasAnswer = (item: Json): boolean => objectsIn(item.answer).length > 0 || objectsIn(item.item).some(hasAnswer)

const MARKS: readonly string[] = [
  ...[URLS.definitionExtract, URLS.itemExtractionContext, URLS.templateExtract, URLS.templateExtractBundle],
  URLS.observationExtract,
]
const isMarked = (element: Json): boolean =>
  MARKS.some((url) => extensionsOf(element, url).length > 0) || itemsOf(element).some(isMarked)

/** Throws JobRefused where only a StructureMap says what is to be extracted. */
const refuseMaps = (questionnaire: Json): void => {
  const map = textOf(extensionValue(questionnaire, URLS.targetStructureMap))
  if (map === undefined || isMarked(questionnaire)) return
  throw new JobRefused(
    'structure-map',
    'extract',
    map.slice(0, 200),
    'extraction by Observations, definitions or templates',
  )
}

export const extract = async (input: ExtractInput, evaluator: Evaluator, ask: Ask): Promise<Extracted> => {
  const { questionnaire, response } = input
  refuseMaps(questionnaire)
  const issues = createIssueList()
  const resolver = createExpressionResolver({ evaluator, ask, issues })
  const newId = (): Promise<string> => ask({ kind: 'id' })
  const parts: EntryParts = { evaluator, issues, ask }
  const observations = createObservationExtraction({ response, issues, newId })
  const definitions = createDefinitionExtraction({ shapes: createElementShapes(ask), resolver, issues })
  /** In the order in which the items are begun. */
  const entries: (Json | undefined)[] = []
  const reserve = (): number => entries.push(undefined) - 1
  const templates = createTemplateEntries(parts, questionnaire, (entry) => void entries.push(entry))

  const variablesAt = async (element: Json, node: unknown, outer: Variables, linkId?: string): Promise<Variables> => {
    let variables = outer
    for (const one of extensionsOf(element, URLS.allocateId)) {
      const name = textOf(valueIn(one))
      if (name !== undefined) variables = { ...variables, [name]: [`urn:uuid:${await newId()}`] }
    }
    for (const one of variablesOf(element)) {
      const place = { focus: node, variables, ...(linkId === undefined ? {} : { linkId }) }
      variables = { ...variables, [one.name]: await resolver.resolve(one, place) }
    }
    return variables
  }

  const putObservation = (at: number, made: MadeObservation | undefined): void => {
    if (made === undefined) return
    const { fullUrl, resource } = made
    entries[at] = { fullUrl, resource, request: { method: 'POST', url: 'Observation' } }
  }
  const closeBuilders = async (
    made: readonly Builder[],
    places: readonly number[],
    place: ExtractPlace,
  ): Promise<void> => {
    for (const [index, { resource, extension }] of made.entries()) {
      const kept = withoutEmpty(resource)
      if (!isObject(kept) || Object.keys(kept).length < 2) continue
      entries[places[index] as number] = await entryAsked(parts, extension, kept, place.node, place.variables)
    }
  }
  const question = async (place: ExtractPlace, state: State): Promise<void> => {
    const { definition, node, variables } = place
    for (const answer of evaluator.evaluate('answer', node, variables)) {
      if (!isObject(plainValue(answer))) continue
      const at = reserve()
      const made = await observations.answer(definition, plainValue(answer) as Json, state.observations)
      putObservation(at, made)
      const [value] = evaluator.evaluate('value', answer, variables)
      const own = definitions.forAnswer(state.definitions)
      await definitions.fill(place, own, value)
      const below: State = {
        observations: made === undefined ? state.observations : { ...state.observations, parent: made },
        definitions: own,
      }
      await children(definition, answer, variables, below)
    }
  }

  const item = async (place: ExtractPlace, outer: State): Promise<void> => {
    const { definition, node } = place
    const linkId = String(definition.linkId)
    if (!hasAnswer(plainValue(node) as Json)) return
    const variables = await variablesAt(definition, node, { ...place.variables, qitem: definition }, linkId)
    const here: ExtractPlace = { ...place, variables, linkId }
    const { state: entered, made } = await definitions.enter(here, outer.definitions)
    const places = made.map(reserve)
    const own = observationStateOf(definition, outer.observations)
    await templates.ofItem(here)
    if (definition.type === 'group') {
      const at = reserve()
      const panel = await observations.group(definition, own)
      putObservation(at, panel)
      await definitions.fill(here, entered, undefined)
      await children(definition, node, variables, {
        observations: panel === undefined ? own : { ...own, parent: panel },
        definitions: entered,
      })
    } else await question(here, { observations: own, definitions: entered })
    await closeBuilders(made, places, here)
  }

  const children = async (parent: Json, node: unknown, variables: Variables, state: State): Promise<void> => {
    const byLinkId = new Map(itemsOf(parent).map((one) => [one.linkId, one]))
    for (const child of evaluator.evaluate('item', node, variables)) {
      const plain = plainValue(child)
      if (!isObject(plain)) continue // as `objectsIn` leaves it out
      const { linkId } = plain
      const definition = byLinkId.get(String(linkId))
      if (definition !== undefined) await item({ definition, node: child, variables }, state)
      else
        issues.add(
          'warning',
          'not-found',
          'The Questionnaire has no such item here, so it was left out.',
          String(linkId),
        )
    }
  }

  const [root] = evaluator.evaluate('QuestionnaireResponse', response, {})
  const first: Variables = { resource: response, rootResource: response, questionnaire }
  const variables = await variablesAt(questionnaire, root, first)
  const place: ExtractPlace = { definition: questionnaire, node: root, variables }
  const { state, made } = await definitions.enter(place, NO_BUILDERS)
  const places = made.map(reserve)
  await templates.ofItem(place)
  await templates.ofBundle(root, variables)
  await definitions.fill(place, state, undefined)
  const rootState = observationStateOf(questionnaire, NO_OBSERVATIONS)
  await children(questionnaire, root, variables, { observations: rootState, definitions: state })
  if (hasAnswer(response)) await closeBuilders(made, places, place)
  const entry = entries.filter((one) => one !== undefined)
  return {
    bundle: entry.length === 0 ? undefined : { resourceType: 'Bundle', type: 'transaction', entry },
    issues: issues.all,
  }
}
