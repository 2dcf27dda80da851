/** Fills in what an item leaves to the element that its `definition` names. */
import type { Item } from '../questionnaire/items.ts'
import { isObject, type Json, objectsIn, textOf } from '../questionnaire/json.ts'
import type { Ask } from '../threads/ask.ts'

export type ApplyDefinition = (item: Item) => Promise<Item>

/** Text, length and value set of the element, where the item has none of its own. */
const inheritedOf = (item: Item, element: Json): Json => {
  const { maxLength, binding } = element
  const text = textOf(element.label)
  const valueSet = isObject(binding) ? textOf(binding.valueSet) : undefined
  const isChoice = item.type === 'choice' || item.type === 'open-choice'
  const isOpen = item.answerValueSet === undefined && item.answerOption === undefined
  return {
    ...(item.text === undefined && text !== undefined ? { text } : {}),
    ...(item.maxLength === undefined && typeof maxLength === 'number' && item.type !== 'group' ? { maxLength } : {}),
    ...(isChoice && isOpen && valueSet !== undefined ? { answerValueSet: valueSet } : {}),
  }
}

export const createApplyDefinition = (ask: Ask): ApplyDefinition => {
  const known = new Map<string, Promise<readonly Json[]>>()
  const elementsOf = async (url: string): Promise<readonly Json[]> => {
    const json = await ask({ kind: 'definition', url })
    const { snapshot, differential } = json === undefined ? {} : (JSON.parse(json) as Json)
    const { element } = isObject(snapshot) ? snapshot : isObject(differential) ? differential : {}
    return objectsIn(element)
  }
  return async (item) => {
    const [url, id] = String(item.definition ?? '').split('#')
    if (url === undefined || id === undefined || id === '') return item
    const elements = known.get(url) ?? elementsOf(url)
    known.set(url, elements)
    const element = (await elements).find((one) => one.id === id || one.path === id)
    return element === undefined ? item : { ...item, ...inheritedOf(item, element) }
  }
}
