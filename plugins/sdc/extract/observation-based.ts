/** Observation-based extraction. https://hl7.org/fhir/uv/sdc/extraction.html#observation-based-extraction */
import type { IssueList } from '../expressions/issue-list.ts'
import { extensionsOf, extensionValue, URLS, valueIn, valueKeyOf } from '../questionnaire/extensions.ts'
import { isObject, type Json, objectsIn } from '../questionnaire/json.ts'

/** How an item is extracted: as an independent Observation, or as a member or component of the Observation of an enclosing item. */
type Relation = 'independent' | 'member' | 'component'

/** An Observation that is being made; parts of it are added while the items below it are visited. */
export interface MadeObservation {
  readonly fullUrl: string
  readonly resource: Record<string, unknown>
}

/** What holds for the items below. */
export interface ObservationState {
  /** Set by an extension of an enclosing item. */
  readonly relation: Relation | undefined
  readonly category: readonly unknown[]
  readonly parent: MadeObservation | undefined
}

export const NO_OBSERVATIONS: ObservationState = { relation: undefined, category: [], parent: undefined }

const relationIn = (element: Json): Relation | 'no' | undefined => {
  const value = extensionValue(element, URLS.observationExtract)
  if (value === true || value === 'independent') return 'independent'
  if (value === 'member' || value === 'component') return value
  return value === false ? 'no' : undefined
}

/** What an element says for itself and what is below it. */
export const observationStateOf = (element: Json, outer: ObservationState): ObservationState => {
  const own = relationIn(element)
  const category = extensionsOf(element, URLS.observationCategory).map(valueIn).filter(isObject)
  return {
    relation: own === 'no' ? undefined : (own ?? outer.relation),
    category: category.length > 0 ? category : outer.category,
    parent: outer.parent,
  }
}

/** Codes of the item: those that are marked, where some are. */
const codesOf = (item: Json): readonly Json[] => {
  const all = objectsIn(item.code)
  const marked = all.filter((one) => extensionValue(one, URLS.observationExtract) === true)
  return (marked.length > 0 ? marked : all).map(({ extension: _extension, ...coding }) => coding)
}

/** `value[x]` of an Observation; undefined for an answer that an Observation cannot have. */
const observedValue = (item: Json, answer: Json): Json | undefined => {
  const key = valueKeyOf(answer)
  const value = key === undefined ? undefined : answer[key]
  const unit = extensionValue(item, URLS.unit)
  const quantity = isObject(unit)
    ? { unit: unit.display ?? unit.code, system: unit.system, code: unit.code }
    : undefined
  switch (key) {
    case 'valueCoding':
      return { valueCodeableConcept: { coding: [value] } }
    case 'valueDecimal':
      return { valueQuantity: { value, ...quantity } }
    case 'valueInteger':
      return quantity === undefined ? { valueInteger: value } : { valueQuantity: { value, ...quantity } }
    case 'valueDate':
      return { valueDateTime: value }
    case 'valueUri':
      return { valueString: value }
    case 'valueBoolean':
    case 'valueString':
    case 'valueDateTime':
    case 'valueTime':
    case 'valueQuantity':
      return { [key]: value }
    default:
      return undefined
  }
}

const PERFORMERS = /(^|\/)(Practitioner|PractitionerRole|Organization|CareTeam|Patient|RelatedPerson)\//

export interface ObservationParts {
  readonly response: Json
  readonly issues: IssueList
  readonly newId: () => Promise<string>
}

export const createObservationExtraction = ({ response, issues, newId }: ObservationParts) => {
  const { id, subject, encounter, authored, author, status, basedOn } = response
  const isInstant = typeof authored === 'string' && authored.includes('T')
  const isPerformer = isObject(author) && PERFORMERS.test(String(author.reference))
  const shared: Json = {
    status: status === 'completed' ? 'final' : status === 'amended' ? 'amended' : 'preliminary',
    ...(basedOn === undefined ? {} : { basedOn }),
    ...(subject === undefined ? {} : { subject }),
    ...(encounter === undefined ? {} : { encounter }),
    ...(authored === undefined ? {} : { effectiveDateTime: authored }),
    ...(isInstant ? { issued: authored } : {}),
    ...(isPerformer ? { performer: [author] } : {}),
    ...(id === undefined ? {} : { derivedFrom: [{ reference: `QuestionnaireResponse/${id}` }] }),
  }
  const codeOf = (item: Json): Json => ({
    coding: codesOf(item),
    ...(item.text === undefined ? {} : { text: item.text }),
  })
  const make = async (item: Json, { category }: ObservationState, value: Json): Promise<MadeObservation> => ({
    fullUrl: `urn:uuid:${await newId()}`,
    resource: {
      resourceType: 'Observation',
      ...(category.length === 0 ? {} : { category }),
      code: codeOf(item),
      ...shared,
      ...value,
    },
  })
  const addTo = (parent: MadeObservation, member: string, part: Json): void => {
    parent.resource[member] = [...((parent.resource[member] as unknown[] | undefined) ?? []), part]
  }
  return {
    /** The Observation of a group that is marked itself: the items below are its members or components. */
    async group(item: Json, state: ObservationState): Promise<MadeObservation | undefined> {
      const relation = relationIn(item)
      if (relation === undefined || relation === 'no' || codesOf(item).length === 0) return undefined
      const made = await make(item, state, {})
      if (relation === 'member' && state.parent !== undefined)
        addTo(state.parent, 'hasMember', { reference: made.fullUrl })
      return made
    },
    /** The Observation of an answer; undefined where there is none, or it is a component of another one. */
    async answer(item: Json, answer: Json, state: ObservationState): Promise<MadeObservation | undefined> {
      const { relation, parent } = state
      if (relation === undefined || codesOf(item).length === 0) return undefined
      const value = observedValue(item, answer)
      if (value === undefined) {
        const key = valueKeyOf(answer) ?? 'none'
        issues.add(
          'warning',
          'not-supported',
          `No Observation has an answer such as ${key} for its value.`,
          String(item.linkId),
        )
        return undefined
      }
      if (relation === 'component' && parent !== undefined) {
        addTo(parent, 'component', { code: codeOf(item), ...value })
        return undefined
      }
      const made = await make(item, state, value)
      if (relation === 'member' && parent !== undefined) addTo(parent, 'hasMember', { reference: made.fullUrl })
      return made
    },
  }
}
