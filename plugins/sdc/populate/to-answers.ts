/** Makes answers to an item of values that an expression, an `initial` or an Observation gives. */
import { plainValue, typeOfNode } from '../expressions/plain-value.ts'
import { extensionsOf, extensionValue, URLS, valueIn, valueKeyOf } from '../questionnaire/extensions.ts'
import type { Item } from '../questionnaire/items.ts'
import { isObject, type Json, objectsIn, textOf } from '../questionnaire/json.ts'
import type { Code } from '../threads/ask.ts'

/** The member of an answer by type of the item; choices take Codings and what their options have. */
const MEMBERS: Readonly<Record<string, string>> = {
  boolean: 'valueBoolean',
  decimal: 'valueDecimal',
  integer: 'valueInteger',
  date: 'valueDate',
  dateTime: 'valueDateTime',
  time: 'valueTime',
  string: 'valueString',
  text: 'valueString',
  url: 'valueUri',
  attachment: 'valueAttachment',
  reference: 'valueReference',
  quantity: 'valueQuantity',
}

/** Finds the codes of a value set with a code; undefined where that cannot be told. */
export type FindCodes = (valueSet: string, code: string) => Promise<readonly Code[] | undefined>

const DATE = /^\d{4}(-\d\d(-\d\d)?)?/

const toNumber = (value: unknown): number | undefined => {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : undefined
}

/** The number of a Quantity in the unit of the item; undefined where the units differ. */
const numberOf = (item: Item, value: unknown): number | undefined => {
  if (!isObject(value)) return toNumber(value)
  const unit = extensionValue(item, URLS.unit)
  if (!isObject(unit)) return toNumber(value.value)
  return value.code === unit.code || value.unit === unit.code || value.unit === unit.display
    ? toNumber(value.value)
    : undefined
}

const quantityOf = (item: Item, value: unknown): Json | undefined => {
  if (isObject(value)) return value
  const number = toNumber(value)
  const unit = extensionValue(item, URLS.unit)
  if (number === undefined) return undefined
  if (!isObject(unit)) return { value: number }
  return { value: number, unit: unit.display ?? unit.code, system: unit.system, code: unit.code }
}

const referenceOf = (value: unknown): Json | undefined => {
  if (typeof value === 'string') return { reference: value }
  if (!isObject(value)) return undefined
  const { resourceType, id } = value
  if (typeof resourceType !== 'string') return value
  return typeof id === 'string' ? { reference: `${resourceType}/${id}` } : undefined
}

/** The value in the form of an item that is no choice; undefined where it has none. */
const simpleValue = (item: Item, value: unknown): unknown => {
  const text = typeof value === 'object' ? undefined : String(value)
  switch (item.type) {
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined
    case 'decimal':
      return numberOf(item, value)
    case 'integer': {
      const number = numberOf(item, value)
      return Number.isInteger(number) ? number : undefined
    }
    case 'date':
      return text === undefined ? undefined : DATE.exec(text)?.[0]
    case 'dateTime':
      return text !== undefined && DATE.test(text) ? text : undefined
    case 'time':
    case 'string':
    case 'text':
    case 'url':
      return text
    case 'quantity':
      return quantityOf(item, value)
    case 'reference':
      return referenceOf(value)
    case 'attachment':
      return isObject(value) ? value : undefined
    default:
      return undefined
  }
}

const isSameCode = (one: unknown, other: Json): boolean =>
  isObject(one) && one.code === other.code && (other.system === undefined || one.system === other.system)

/** Answers of a choice: one of the Codings of a CodeableConcept, a Coding, a code of its options, or an option itself. */
const choiceAnswer = async (item: Item, value: unknown, node: unknown, find: FindCodes): Promise<Json | undefined> => {
  const options = objectsIn(item.answerOption)
  if (isObject(value)) {
    const codings = Array.isArray(value.coding) ? objectsIn(value.coding) : value.code === undefined ? [] : [value]
    const listed = options.find((option) => codings.some((coding) => isSameCode(option.valueCoding, coding)))
    const chosen = (listed?.valueCoding ?? codings[0]) as Json | undefined
    if (chosen !== undefined) return { valueCoding: chosen }
    const text = textOf(value.text)
    return item.type === 'open-choice' && text !== undefined ? { valueString: text } : undefined
  }
  const option = options.find((one) => valueIn(one) === value)
  if (option !== undefined) return { [valueKeyOf(option) as string]: value }
  const text = String(value)
  const coded = options.filter((one) => isObject(one.valueCoding) && one.valueCoding.code === text)
  if (coded.length === 1) return { valueCoding: (coded[0] as Json).valueCoding }
  const valueSet = textOf(item.answerValueSet)
  const codes = valueSet === undefined || coded.length > 1 ? [] : await find(valueSet, text)
  if (codes?.length === 1) return { valueCoding: { system: codes[0]?.system, code: text } }
  return item.type === 'open-choice' && typeOfNode(node) !== 'code' ? { valueString: text } : undefined
}

/** Undefined where the value does not fit the item. */
export const toAnswer = async (item: Item, node: unknown, find: FindCodes): Promise<Json | undefined> => {
  const value = plainValue(node)
  if (value === undefined || value === null) return undefined
  if (item.type === 'choice' || item.type === 'open-choice') return choiceAnswer(item, value, node, find)
  const simple = simpleValue(item, value)
  const member = MEMBERS[item.type]
  return simple === undefined || member === undefined ? undefined : { [member]: simple }
}

/** The answers that an item starts with: its `initial`, or the options that are selected at first. Others than it takes are left out. */
export const initialAnswers = (item: Item): readonly Json[] => {
  const initial = objectsIn(item.initial)
  const chosen =
    initial.length > 0 ? initial : objectsIn(item.answerOption).filter((one) => one.initialSelected === true)
  return chosen.flatMap((one) => {
    const key = valueKeyOf(one)
    const isTaken = key !== undefined && (MEMBERS[item.type] ?? key) === key
    return isTaken ? [{ [key]: one[key] }] : []
  })
}

/** True where an item is filled in from Observations. */
export const isLinkedToObservations = (item: Item): boolean =>
  extensionsOf(item, URLS.observationLinkPeriod).length > 0 && objectsIn(item.code).length > 0
