/**
 * Reads a resource from XML while the parser goes through it, and makes JSON of it: the order of elements, which of them
 * repeat, and which values are numbers come from the definitions. Numbers keep their digits.
 * https://hl7.org/fhir/R4/xml.html
 */
import type { ServerError } from '../../../kernel/index.ts'
import { keepDigits } from '../json/exact.ts'
import { placeAt } from '../text-place.ts'
import * as errors from './errors.ts'
import { createNarrative, type Narrative } from './narrative.ts'
import type { PrimitiveForm, XmlMember, XmlShape, XmlShapes } from './shapes.ts'
import { parseXml, type Tag } from './strict-parser.ts'
import { FHIR_NAMESPACE, isBlank, XHTML_NAMESPACE } from './text.ts'

type Json = Record<string, unknown>

/** An element that is open. */
interface Frame {
  readonly parent: Frame | undefined
  /** What it is in its parent; undefined for a resource, which stands in an element of its own or is the root. */
  readonly member: XmlMember | undefined
  /** Undefined for an element that holds a resource. */
  readonly shape: XmlShape | undefined
  readonly json: Json
  /** Index among the items with its name. */
  readonly index: number
  /** Levels that the JSON has here. */
  readonly level: number
  /** Index of its `<` in the text. */
  readonly start: number
  /** Position of its last child in the order of the definition. */
  last: number
  /** Where it is a primitive. */
  value: unknown
}

export interface ReadXmlParts {
  readonly shapes: XmlShapes
  readonly isType: (name: string) => boolean
}

/** Of JSON, as for bodies in JSON. */
const MAX_LEVELS = 100

const INTEGER = /^-?(?:0|[1-9]\d*)$/
const DECIMAL = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

const short = (text: string): string => (text.length > 64 ? `${text.slice(0, 61)}...`.toWellFormed() : text)

/** Undefined for text that is no value of this form. */
const toValue = (form: PrimitiveForm, text: string): unknown => {
  if (form === 'boolean') return text === 'true' ? true : text === 'false' ? false : undefined
  if (form === 'integer') return INTEGER.test(text) ? keepDigits(text) : undefined
  if (form === 'decimal') return DECIMAL.test(text) ? keepDigits(text) : undefined
  return text
}

/** FHIRPath of an element, such as `Patient.name[0].given[1]`. */
const pathOf = ({ parent, member, shape, index }: Frame): string => {
  if (parent === undefined) return shape?.name ?? ''
  if (member === undefined) return pathOf(parent)
  return `${pathOf(parent)}.${member.name}${member.repeats ? `[${index}]` : ''}`
}

const itemsOf = ({ json }: Frame, name: string): unknown[] => (json[name] ?? []) as unknown[]

const addValue = (parent: Frame, { name, repeats }: XmlMember, value: unknown): void => {
  if (!repeats) {
    parent.json[name] = value
    return
  }
  const items = itemsOf(parent, name)
  items.push(value)
  parent.json[name] = items
}

/** Adds the value of a primitive and its id and extensions, which JSON has in two members of equal length. */
const addPrimitive = (parent: Frame, { name, repeats }: XmlMember, value: unknown, more: Json | undefined): void => {
  const under = `_${name}`
  if (!repeats) {
    if (value !== undefined) parent.json[name] = value
    if (more !== undefined) parent.json[under] = more
    return
  }
  const items = itemsOf(parent, name)
  items.push(value ?? null)
  parent.json[name] = items
  const others = parent.json[under] as unknown[] | undefined
  if (others !== undefined) others.push(more ?? null)
  else if (more !== undefined) parent.json[under] = [...items.slice(1).map(() => null), more]
}

/** JSON has no list of values where none of them has a value. */
const dropEmptyLists = (json: Json): void => {
  for (const key of Object.keys(json))
    if (key.startsWith('_') && Array.isArray(json[key])) {
      const items = json[key.slice(1)] as unknown[]
      if (items.every((item) => item === null)) delete json[key.slice(1)]
    }
}

type MakeError = (...words: (string | number)[]) => ServerError

const refusal = (make: MakeError, text: string, at: number, where: Frame | undefined, words: string[]): ServerError => {
  const { line, column } = placeAt(text, at)
  const error = make(line, column, ...words.map(short))
  return where === undefined ? error : error.with({ expression: [pathOf(where)] })
}

/** The resource as an object, whose numbers are raw JSON. Throws 400, and NotLoaded for a type that is not loaded yet. */
export const readXml = ({ shapes, isType }: ReadXmlParts, text: string): Json => {
  let frame: Frame | undefined
  let root: Json | undefined
  let narrative: Narrative | undefined
  let narrativeStart = 0

  const refuse = (make: MakeError, at: number, where: Frame | undefined, ...words: string[]): never => {
    throw refusal(make, text, at, where, words)
  }
  const shapeOf = (key: string): XmlShape => {
    const shape = shapes.find(key)
    if (shape === undefined) throw errors.XmlUndefined(short(key))
    return shape
  }
  const checkNamespace = (tag: Tag, start: number, expected: string): void => {
    if (tag.uri !== expected) refuse(errors.XmlNamespace, start, frame, tag.name, tag.uri, expected)
  }

  /** Takes the attributes that the definition has; `value` is that of a primitive. */
  const readAttributes = (tag: Tag, opened: Frame): void => {
    const { shape, start } = opened
    for (const { name, prefix, value } of Object.values(tag.attributes)) {
      if (name === 'xmlns' || prefix === 'xmlns') continue
      const isValue = name === 'value' && shape?.primitive !== undefined
      if (!isValue && shape?.attributes.includes(name) !== true)
        refuse(errors.XmlAttribute, start, opened, tag.name, name)
      if (isBlank(value)) refuse(errors.XmlAttributeEmpty, start, opened, name, tag.name)
      if (!isValue) opened.json[name] = value
      else if (shape?.primitive !== undefined) {
        opened.value = toValue(shape.primitive, value)
        if (opened.value === undefined) refuse(errors.XmlValue, start, opened, tag.name, shape.name)
      }
    }
  }

  const openResource = (tag: Tag, start: number): Frame => {
    checkNamespace(tag, start, FHIR_NAMESPACE)
    if (!isType(tag.local)) refuse(errors.XmlType, start, frame, tag.local)
    if (frame?.json.resource !== undefined)
      refuse(errors.XmlOneResource, start, frame, frame.member?.name ?? '', tag.local)
    // The server puts its meta in front, so that an update with what was read changes nothing.
    const json = frame === undefined ? { resourceType: tag.local, meta: undefined } : { resourceType: tag.local }
    return {
      ...{ parent: frame, member: undefined, shape: shapeOf(tag.local), json },
      ...{ index: 0, level: (frame?.level ?? 0) + 1, start, last: -1, value: undefined },
    }
  }

  const openChild = (tag: Tag, start: number, parent: Frame, shape: XmlShape): Frame => {
    const member = shape.members.get(tag.local)
    const content = member?.content === undefined ? undefined : shapeOf(member.content)
    checkNamespace(tag, start, content?.primitive === 'xhtml' ? XHTML_NAMESPACE : FHIR_NAMESPACE)
    if (member === undefined) return refuse(errors.XmlElement, start, parent, tag.local, shape.name)
    if (member.position < parent.last) refuse(errors.XmlOrder, start, parent, tag.local, shape.name)
    if (member.position === parent.last && !member.repeats)
      refuse(errors.XmlTwice, start, parent, tag.local, shape.name)
    parent.last = member.position
    return {
      ...{ parent, member, shape: content, json: {}, index: member.repeats ? itemsOf(parent, member.name).length : 0 },
      ...{ level: parent.level + (member.repeats ? 2 : 1), start, last: -1, value: undefined },
    }
  }

  const closeFrame = (closed: Frame): void => {
    const { parent, member, shape, json, start, value } = closed
    dropEmptyLists(json)
    const hasContent = Object.keys(json).length > 0
    if (member === undefined) {
      if (parent === undefined) root = json
      else parent.json.resource = json
      return
    }
    const isEmpty = (needs: string): never => refuse(errors.XmlNoContent, start, closed, member.name, needs)
    if (shape?.primitive !== undefined) {
      if (value === undefined && !hasContent) isEmpty('a value or an extension')
      addPrimitive(parent as Frame, member, value, hasContent ? json : undefined)
      return
    }
    if (!hasContent) isEmpty(shape === undefined ? 'a resource' : 'at least one element')
    addValue(parent as Frame, member, shape === undefined ? json.resource : json)
  }

  parseXml(text, {
    open(tag, { start }) {
      if (narrative !== undefined) {
        checkNamespace(tag, start, XHTML_NAMESPACE)
        return narrative.open(tag)
      }
      const opened = frame?.shape === undefined ? openResource(tag, start) : openChild(tag, start, frame, frame.shape)
      if (opened.level > MAX_LEVELS) refuse(errors.XmlDepth, start, opened, String(MAX_LEVELS))
      frame = opened
      if (opened.shape?.primitive === 'xhtml') {
        narrative = createNarrative(tag)
        narrativeStart = start
      } else readAttributes(tag, opened)
    },
    close(tag, end) {
      const closed = frame as Frame
      if (narrative !== undefined) {
        if (!narrative.close(tag)) return
        closed.value = narrative.written(text.slice(narrativeStart, end))
        narrative = undefined
      }
      closeFrame(closed)
      frame = closed.parent
    },
    text(piece, end, isCdata) {
      if (narrative !== undefined) return narrative.text(piece, isCdata)
      if (frame === undefined || (isBlank(piece) && !isCdata)) return
      refuse(errors.XmlText, end, frame, frame.member?.name ?? frame.shape?.name ?? '')
    },
    comment: (piece) => narrative?.comment(piece),
  })
  return root as Json
}
