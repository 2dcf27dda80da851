/**
 * The parameters of an invocation, checked against their declaration. They come from the query, from a Parameters
 * resource, or from a resource that is the whole body. https://hl7.org/fhir/R4/operations.html#request
 */

import { type ServerError, withArticle } from '../../../kernel/index.ts'
import type { JsonMember, ParsedResource } from '../../model/service.ts'
import { itemsAt, membersAt } from '../../model/service.ts'
import type { Validator } from '../../validation/service.ts'
import {
  OperationBody,
  OperationParameterBody,
  OperationParameterMany,
  OperationParameterMissing,
  OperationParametersMalformed,
  OperationParameterType,
  OperationParameterUnknown,
} from './errors.ts'
import type { Operation } from './operation.ts'
import type { Inputs, OperationParameter } from './operation-parameter.ts'
import { isOfType, isPrimitive, readPrimitive, spellingsOf } from './primitive.ts'

type Json = Record<string, unknown>

interface Given {
  readonly name: string
  /** True for a name that is not declared. */
  readonly isIgnored?: true
  readonly value: unknown
  readonly json?: string | undefined
}

const toInputs = (all: readonly Given[]): Inputs => {
  const given = all.filter(({ isIgnored }) => isIgnored !== true)
  const find = (name: string): Given | undefined => given.find((one) => one.name === name)
  return {
    get: <T>(name: string) => find(name)?.value as T | undefined,
    all: <T>(name: string) => given.filter((one) => one.name === name).map(({ value }) => value as T),
    ignored: all.flatMap(({ name, isIgnored }) => (isIgnored === true ? [name] : [])),
    json: (name) => find(name)?.json,
  }
}

/** The code of the operation, for messages, and a test for the names of resource types. */
interface About {
  readonly code: string
  readonly lenient: boolean
  readonly isResource: (type: string) => boolean
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const short = (text: string): string => text.slice(0, 64)

const unknown = (about: About, declared: readonly OperationParameter[], name: string): ServerError =>
  OperationParameterUnknown(short(name), about.code, declared.map((one) => one.name).join(', ') || 'none')

const checkCounts = (
  about: About,
  declared: readonly OperationParameter[],
  given: readonly Given[],
  path: string,
): void => {
  for (const { name, min = 0, max = 1 } of declared) {
    const count = given.filter((one) => one.name === name).length
    if (count < min) throw OperationParameterMissing(about.code, path === '' ? name : `${path}.${name}`)
    if (max !== '*' && count > max) throw OperationParameterMany(name, count, max)
  }
}

const fromQuery = (
  about: About,
  declared: readonly OperationParameter[],
  pairs: readonly (readonly [string, string])[],
): readonly Given[] => {
  const given: Given[] = []
  for (const [name, text] of pairs) {
    const parameter = declared.find((one) => one.name === name)
    if (parameter === undefined) {
      if (!about.lenient) throw unknown(about, declared, name)
      given.push({ name, value: text, isIgnored: true })
      continue
    }
    const { type = 'BackboneElement' } = parameter
    if (!isPrimitive(type)) throw OperationParameterBody(name, type)
    const value = readPrimitive(type, text)
    if (value === undefined) throw OperationParameterType(name, type, JSON.stringify(short(text)))
    given.push({ name, value })
  }
  return given
}

/** The only member of an item that is `value[x]`, `resource` or `part`. */
const contentOf = (item: Json, place: string): { readonly key: string; readonly value: unknown } => {
  const keys = Object.keys(item).filter((key) => key !== 'name' && key !== 'id' && key !== 'extension')
  const contents = keys.filter((key) => !key.startsWith('_'))
  const [key] = contents
  if (key === undefined || contents.length > 1 || !/^(value[A-Z][A-Za-z0-9]*|resource|part)$/.test(key))
    throw OperationParametersMalformed('a parameter has a value, a resource, or parts').with({ expression: [place] })
  return { key, value: item[key] }
}

/** The text that inputs are parsed from, with the positions of its large parts. */
type Written = Pick<ParsedResource, 'text' | 'outline'>

const startsIn = ({ text, outline }: Written, start: number): readonly number[] => {
  const known = outline?.items.get(start)
  return known === undefined
    ? itemsAt(text, start).map((span) => span.start)
    : Array.from(known).filter((_, at) => at % 2 === 0)
}
const membersIn = ({ text, outline }: Written, start: number): readonly JsonMember[] =>
  outline?.members.get(start) ?? membersAt(text, start)

const readItems = (
  about: About,
  declared: readonly OperationParameter[],
  items: unknown,
  written: Written,
  start: number,
  place: string,
  path: string,
): readonly Given[] => {
  if (!Array.isArray(items)) throw OperationParametersMalformed(`${place} is a list`).with({ expression: [place] })
  const { text } = written
  const starts = startsIn(written, start)
  const given: Given[] = []
  for (const [at, item] of items.entries()) {
    const here = `${place}[${at}]`
    if (!isObject(item) || typeof item.name !== 'string')
      throw OperationParametersMalformed('a parameter is an object with a name').with({ expression: [here] })
    const { name } = item
    const parameter = declared.find((one) => one.name === name)
    if (parameter === undefined) {
      if (!about.lenient || path !== '') throw unknown(about, declared, name).with({ expression: [here] })
      given.push({ name, value: undefined, isIgnored: true })
      continue
    }
    const { key, value } = contentOf(item, here)
    const wrong = (sent: string): ServerError =>
      OperationParameterType(name, parameter.type ?? 'parts', sent).with({ expression: [here] })
    const valueStart = membersIn(written, starts[at] ?? 0).find((member) => member.key === key)
    const type = parameter.type
    if (type === undefined) {
      const { part = [] } = parameter
      if (key !== 'part') throw wrong(key)
      const inner = `${path === '' ? '' : `${path}.`}${name}`
      const parts = readItems(about, part, value, written, valueStart?.valueStart ?? 0, `${here}.part`, inner)
      checkCounts(about, part, parts, inner)
      given.push({ name, value: toInputs(parts) })
    } else if (type === 'Resource' || about.isResource(type) || (parameter.orResource === true && key === 'resource')) {
      if (key !== 'resource' || !isObject(value)) throw wrong(key)
      if (about.isResource(type) && value.resourceType !== type)
        throw wrong(`a resource of type ${JSON.stringify(short(String(value.resourceType)))}`)
      given.push({ name, value, json: text.slice(valueStart?.valueStart, valueStart?.valueEnd) })
    } else {
      if (!key.startsWith('value')) throw wrong(key)
      const isKnown =
        type === 'Element' || spellingsOf(type).some((one) => key === `value${one[0]?.toUpperCase()}${one.slice(1)}`)
      if (!isKnown) throw wrong(key)
      if (isPrimitive(type) ? !isOfType(type, value) : type !== 'Element' && !isObject(value))
        throw wrong(`the value ${short(JSON.stringify(value))}`)
      given.push({ name, value })
    }
  }
  return given
}

const fromBody = (about: About, declared: readonly OperationParameter[], body: ParsedResource): readonly Given[] => {
  const { resource, text, members } = body
  const { resourceType, parameter } = resource
  if (resourceType === 'Parameters') {
    if (parameter === undefined) return []
    const start = members.find(({ key }) => key === 'parameter')?.valueStart ?? 0
    return readItems(about, declared, parameter, body, start, 'Parameters.parameter', '')
  }
  // A body is one resource, and of a parameter that repeats it would be a part.
  const single = declared.filter(({ max = 1 }) => max === 1)
  const whole = single.find(
    ({ type, orResource }) =>
      type === 'Resource' || orResource === true || (type !== undefined && type === resourceType),
  )
  if (typeof resourceType === 'string' && about.isResource(resourceType) && whole !== undefined)
    return [{ name: whole.name, value: resource, json: text }]
  const takes = single.filter(({ type }) => type !== undefined && (type === 'Resource' || about.isResource(type)))
  const others = takes.map(({ type }) => ` or ${withArticle(type as string)}`).join('')
  const sent = typeof resourceType === 'string' ? `of type "${short(resourceType)}"` : 'no resource'
  throw OperationBody(about.code, others, sent)
}

export interface InputParts {
  readonly operation: Pick<Operation, 'code' | 'parameters'>
  readonly isResource: (type: string) => boolean
  readonly validator: Validator | undefined
  readonly query: readonly (readonly [string, string])[]
  /** The body of a POST. */
  readonly body: ParsedResource | undefined
  /** `Prefer: handling=lenient`: unknown parameters are ignored, but for parts of others. */
  readonly lenient: boolean
}

/** Replaces the resources in Parameters by a value: the operation checks resources itself. */
const withoutResources = (items: readonly unknown[]): unknown[] =>
  items.map((item) => {
    if (!isObject(item)) return item
    const { resource, part, ...rest } = item
    if (resource !== undefined) return { ...rest, valueBoolean: true }
    return Array.isArray(part) ? { ...rest, part: withoutResources(part) } : item
  })

/** Throws 400, which names the parameter, and 400 or 422 for a value whose structure does not fit its type. */
export const readInputs = async (parts: InputParts): Promise<Inputs> => {
  const { operation, isResource, validator, query, body, lenient } = parts
  const { code, parameters } = operation
  const about: About = { code, isResource, lenient }
  const given = [
    ...fromQuery(about, parameters, query),
    ...(body === undefined ? [] : fromBody(about, parameters, body)),
  ]
  checkCounts(about, parameters, given, '')
  const { resourceType, parameter } = body?.resource ?? {}
  if (validator !== undefined && resourceType === 'Parameters' && Array.isArray(parameter) && isResource('Parameters'))
    await validator.validateWrite({ resourceType, parameter: withoutResources(parameter) })
  return toInputs(given)
}
