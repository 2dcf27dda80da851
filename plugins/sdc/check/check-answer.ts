/** Checks the value of an answer against the type and the options of its item. */
import { valueIn, valueKeyOf } from '../questionnaire/extensions.ts'
import type { Item } from '../questionnaire/items.ts'
import { containedIn } from '../questionnaire/items.ts'
import { isObject, type Json, objectsIn } from '../questionnaire/json.ts'
import type { FindValueSetCodes, Report } from './check-contract.ts'
import { checkLimits } from './check-limits.ts'
import { isSameValue } from './same-value.ts'

const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  boolean: ['valueBoolean'],
  decimal: ['valueDecimal'],
  integer: ['valueInteger'],
  date: ['valueDate'],
  dateTime: ['valueDateTime'],
  time: ['valueTime'],
  string: ['valueString'],
  text: ['valueString'],
  url: ['valueUri'],
  choice: ['valueCoding'],
  'open-choice': ['valueCoding', 'valueString'],
  attachment: ['valueAttachment'],
  reference: ['valueReference'],
  quantity: ['valueQuantity'],
}

const membersOf = (item: Item): readonly string[] => {
  const options = objectsIn(item.answerOption).flatMap((one) => valueKeyOf(one) ?? [])
  const own = MEMBERS[item.type] ?? []
  if (item.type === 'choice' && options.length > 0) return options
  return item.type === 'open-choice' ? [...own, ...options] : own
}

const shown = (value: unknown): string =>
  (isObject(value) ? `${value.system ?? ''}#${value.code ?? value.reference ?? ''}` : String(value)).slice(0, 200)

export interface AnswerParts {
  readonly questionnaire: Json
  readonly response: Json
  readonly report: Report
  readonly findCodes: FindValueSetCodes
  /** True in a thread that can be ended. */
  readonly mayMatch: boolean
}

/** The codes that a contained value set lists, by its definition, else by its expansion; undefined where neither has them all. */
const listedCodes = ({ compose, expansion }: Json): readonly Json[] | undefined => {
  const { include, exclude } = isObject(compose) ? compose : {}
  const parts = objectsIn(include)
  const isListed = parts.every(({ concept, valueSet }) => concept !== undefined && valueSet === undefined)
  if (parts.length > 0 && isListed && exclude === undefined)
    return parts.flatMap(({ system, concept }) => objectsIn(concept).map(({ code }) => ({ system, code })))
  if (!isObject(expansion)) return undefined
  const all: Json[] = []
  const visit = (contains: unknown): void => {
    for (const one of objectsIn(contains)) {
      all.push(one)
      visit(one.contains)
    }
  }
  visit(expansion.contains)
  return all
}

/** Returns a promise only where a value set has to be asked. */
export const createCheckAnswer = ({ questionnaire, response, report, findCodes, mayMatch }: AnswerParts) => {
  const asked = new Map<string, Promise<boolean | undefined>>()
  const isInValueSet = (
    valueSet: string,
    { system, code }: Json,
  ): Promise<boolean | undefined> | boolean | undefined => {
    if (typeof code !== 'string') return false
    if (valueSet.startsWith('#')) {
      const contained = containedIn(questionnaire, valueSet) ?? containedIn(response, valueSet)
      const codes = contained === undefined ? undefined : listedCodes(contained)
      return codes?.some((one) => one.code === code && (one.system === undefined || one.system === system))
    }
    const key = `${valueSet} ${String(system)} ${code}`
    const known = asked.get(key)
    if (known !== undefined) return known
    const found = findCodes(valueSet, typeof system === 'string' ? system : undefined, code).then((codes) =>
      codes === undefined ? undefined : codes.length > 0,
    )
    asked.set(key, found)
    return found
  }
  const checkCoded = (item: Item, value: Json, path: string): Promise<void> | undefined => {
    const valueSet = item.answerValueSet
    if (typeof valueSet !== 'string') return undefined
    const judge = (isIn: boolean | undefined): void => {
      if (isIn === undefined)
        report(
          'information',
          'informational',
          path,
          `The value set ${valueSet.slice(0, 200)} cannot be expanded here, so ${shown(value)} was not looked up.`,
        )
      else if (!isIn)
        report(
          item.type === 'choice' ? 'error' : 'warning',
          'code-invalid',
          path,
          `${shown(value)} is not in the value set ${valueSet.slice(0, 200)}.`,
        )
    }
    const isIn = isInValueSet(valueSet, value)
    if (isIn instanceof Promise) return isIn.then(judge)
    judge(isIn)
    return undefined
  }
  return (item: Item, answer: Json, path: string): Promise<void> | undefined => {
    const key = valueKeyOf(answer)
    if (key === undefined) return undefined
    const members = membersOf(item)
    if (!members.includes(key)) {
      report(
        'error',
        'structure',
        path,
        `The answer is a ${key}; the item has the type ${item.type}, which takes ${members.join(' or ') || 'no answer'}.`,
      )
      return undefined
    }
    const value = valueIn(answer)
    checkLimits(item, value, path, report, mayMatch)
    const options = objectsIn(item.answerOption)
    if (options.length > 0) {
      const isFree = item.type === 'open-choice' && key === 'valueString'
      if (!isFree && !options.some((one) => isSameValue(value, valueIn(one), key)))
        report('error', 'code-invalid', path, `${shown(value)} is none of the options of the item.`)
      return undefined
    }
    return key === 'valueCoding' && isObject(value) ? checkCoded(item, value, path) : undefined
  }
}
