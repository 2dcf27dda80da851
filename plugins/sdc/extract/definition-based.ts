/** Definition-based extraction. https://hl7.org/fhir/uv/sdc/extraction.html#definition-based-extraction */
import type { Variables } from '../expressions/evaluator.ts'
import type { ExpressionResolver } from '../expressions/expression-resolver.ts'
import type { IssueList } from '../expressions/issue-list.ts'
import { plainValue, typeOfNode } from '../expressions/plain-value.ts'
import { extensionsOf, extensionValue, partOf, readExpression, URLS, valueKeyOf } from '../questionnaire/extensions.ts'
import { type Json, textOf } from '../questionnaire/json.ts'
import { type Builder, createElementSetter, type DefinitionState } from './element-setter.ts'
import type { ElementShapes } from './element-shapes.ts'

const CORE = 'http://hl7.org/fhir/StructureDefinition/'

/** An item instance, or the response itself. */
export interface ExtractPlace {
  /** The item of the Questionnaire, or the Questionnaire. */
  readonly definition: Json
  readonly node: unknown
  readonly variables: Variables
  readonly linkId?: string
}

export interface DefinitionParts {
  readonly shapes: ElementShapes
  readonly resolver: ExpressionResolver
  readonly issues: IssueList
}

export const createDefinitionExtraction = ({ shapes, resolver, issues }: DefinitionParts) => {
  const { set, beginEntry } = createElementSetter(shapes, issues)

  const open = async (
    definition: string,
    extension: Json,
    linkId: string | undefined,
  ): Promise<Builder | undefined> => {
    const found = await shapes.resourceType(definition)
    if (found === undefined) {
      issues.add(
        'warning',
        'not-found',
        `The definition "${definition.slice(0, 200)}" is not installed, so nothing is made of it.`,
        linkId,
      )
      return undefined
    }
    const { type, isProfile } = found
    const resource: Record<string, unknown> = {
      resourceType: type,
      ...(isProfile ? { meta: { profile: [definition] } } : {}),
    }
    return { definition: definition.split('|')[0] as string, type, resource, extension }
  }
  const opened = async ({ definition, linkId }: ExtractPlace): Promise<readonly Builder[]> => {
    const made: (Builder | undefined)[] = []
    for (const extension of extensionsOf(definition, URLS.definitionExtract)) {
      const url = textOf(partOf(extension, 'definition'))
      if (url !== undefined) made.push(await open(url, extension, linkId))
    }
    const context = extensionValue(definition, URLS.itemExtractionContext)
    // The form of earlier versions of SDC: the code of a type. Queries for what is to be updated are not performed.
    if (typeof context === 'string') made.push(await open(`${CORE}${context}`, {}, linkId))
    else if (context !== undefined)
      issues.add(
        'warning',
        'not-supported',
        'itemExtractionContext is taken with a code only; use definitionExtract.',
        linkId,
      )
    return made.filter((one) => one !== undefined)
  }

  /** Sets the fixed and calculated values of an item. */
  const setValues = async (
    state: DefinitionState,
    { definition, node, variables, linkId }: ExtractPlace,
  ): Promise<void> => {
    for (const extension of extensionsOf(definition, URLS.definitionExtractValue)) {
      const target = textOf(partOf(extension, 'definition'))
      if (target === undefined) continue
      const [fixed] = extensionsOf(extension, 'fixed-value')
      const key = fixed === undefined ? undefined : valueKeyOf(fixed)
      if (fixed !== undefined && key !== undefined) {
        const name = key.slice('value'.length)
        const type = typeof fixed[key] === 'object' ? name : `${name[0]?.toLowerCase()}${name.slice(1)}`
        await set(state, target, fixed[key], type, linkId)
      }
      const expression = readExpression(partOf(extension, 'expression'))
      if (expression === undefined) continue
      for (const value of await resolver.resolve(expression, {
        focus: node,
        variables,
        ...(linkId === undefined ? {} : { linkId }),
      }))
        await set(state, target, plainValue(value), typeOfNode(value) ?? typeName(plainValue(value)), linkId)
    }
  }
  return {
    /** Enters an item instance that has answers: opens what it asks for. The builders that it has opened are to be closed. */
    async enter(
      place: ExtractPlace,
      outer: DefinitionState,
    ): Promise<{ state: DefinitionState; made: readonly Builder[] }> {
      const made = await opened(place)
      const state: DefinitionState = {
        builders: [...made, ...outer.builders],
        scope: { outer: outer.scope, entries: new Map() },
      }
      const { definition } = place.definition
      if (place.definition.type === 'group' && typeof definition === 'string') await beginEntry(state, definition)
      return { state, made }
    },
    /** Sets the values of an item once, or of one of its answers. */
    async fill(place: ExtractPlace, state: DefinitionState, answer: unknown): Promise<void> {
      await setValues(state, place)
      const { definition } = place.definition
      if (answer === undefined || typeof definition !== 'string') return
      await set(state, definition, plainValue(answer), typeOfNode(answer) ?? typeName(plainValue(answer)), place.linkId)
    },
    /** The state for one of several answers, each of which begins entries of its own. */
    forAnswer: (state: DefinitionState): DefinitionState => ({
      builders: state.builders,
      scope: { outer: state.scope, entries: new Map() },
    }),
  }
}

const DATE_TIME = /^\d{4}(-\d\d(-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d)?)?)?)?$/

/** The FHIR type of a result that has none. */
const typeName = (value: unknown): string => {
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'decimal'
  if (typeof value === 'string') return DATE_TIME.test(value) && value.length > 4 ? 'dateTime' : 'string'
  return typeof value === 'boolean' ? 'boolean' : 'Coding'
}
