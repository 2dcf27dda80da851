/** Writes a resource as XML, in the order of the definitions. https://hl7.org/fhir/R4/xml.html */
import { decimalText, isObject } from '../json/exact.ts'
import { NotInXml } from './errors.ts'
import type { XmlMember, XmlShape, XmlShapes } from './shapes.ts'
import { parseXml } from './strict-parser.ts'
import { escapeAttribute, FHIR_NAMESPACE, unwritableIn, XHTML_NAMESPACE } from './text.ts'

type Json = Record<string, unknown>

export interface WriteXmlParts {
  readonly shapes: XmlShapes
  readonly isType: (name: string) => boolean
}

const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'

const refuse: (why: string) => never = (why) => {
  throw NotInXml(why.length > 200 ? `${why.slice(0, 197)}...`.toWellFormed() : why)
}
const refuseCharacter = (character: string): never => refuse(`it has the character ${character}, which XML cannot hold`)
const attribute = (name: string, value: string): string => ` ${name}="${escapeAttribute(value, refuseCharacter)}"`

const textOf = (value: unknown, name: string): string => {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  return decimalText(value) ?? refuse(`"${name}" has no value of a primitive type`)
}

/** The narrative as it goes into the document. It has to be well-formed by itself. */
const narrativeOf = (value: unknown): string => {
  if (typeof value !== 'string') return refuse('a narrative is no text')
  const unwritable = unwritableIn(value)
  if (unwritable !== undefined) refuseCharacter(unwritable)
  const div = value.trim()
  let isFirst = true
  try {
    parseXml(div, {
      open({ name, uri }) {
        if (uri !== XHTML_NAMESPACE || (isFirst && name !== 'div')) refuse('a narrative is no div of XHTML')
        isFirst = false
      },
      close: () => undefined,
      text: () => undefined,
      comment: () => undefined,
    })
  } catch (error) {
    throw NotInXml('a narrative is not well-formed XHTML').with({ cause: error })
  }
  return div
}

/** The members of an object in the order of the definition, each once. */
const membersIn = (json: Json, shape: XmlShape): readonly XmlMember[] => {
  const found = new Set<XmlMember>()
  let last = -1
  let isOrdered = true
  for (const key of Object.keys(json)) {
    if (shape.attributes.includes(key)) continue
    const member = shape.members.get(key) ?? (key.startsWith('_') ? shape.members.get(key.slice(1)) : undefined)
    // Some elements have an element of that name; in a resource it is the name of the element.
    if (member === undefined && key === 'resourceType') continue
    if (member === undefined) return refuse(`${shape.name} has no element "${key}"`)
    if (member.position < last) isOrdered = false
    last = member.position
    found.add(member)
  }
  return isOrdered ? [...found] : [...found].sort((one, other) => one.position - other.position)
}

const listOf = (value: unknown): readonly unknown[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value]

/**
 * `resource` is parsed by `parseExact`, so that numbers keep their digits. Throws 406 for what XML cannot hold, and
 * NotLoaded for a type that is not loaded yet.
 */
export const writeXml = ({ shapes, isType }: WriteXmlParts, resource: unknown, pretty: boolean): string => {
  const parts: string[] = [DECLARATION]
  const shapeOf = (key: string): XmlShape =>
    shapes.find(key) ?? refuse(`the installed packages do not define the type ${key}`)
  const breakLine = (depth: number): void => {
    if (pretty) parts.push('\n', '  '.repeat(depth))
  }

  const writeResource = (value: unknown, depth: number, namespace: string): void => {
    if (!isObject(value)) refuse('a resource is no object')
    const { resourceType: name } = value
    if (typeof name !== 'string' || !isType(name)) refuse('it has a resource of an unknown type')
    writeElement(name, value, shapeOf(name), depth, namespace)
  }

  /** An element with its attributes and children; `attributes` are further ones, already escaped. */
  const writeElement = (name: string, json: Json, shape: XmlShape, depth: number, attributes = ''): void => {
    breakLine(depth)
    parts.push('<', name)
    for (const one of shape.attributes) if (typeof json[one] === 'string') parts.push(attribute(one, json[one]))
    parts.push(attributes)
    const members = membersIn(json, shape)
    if (members.length === 0) {
      parts.push('/>')
      return
    }
    parts.push('>')
    for (const member of members) writeMember(json, member, depth + 1)
    breakLine(depth)
    parts.push('</', name, '>')
  }

  const writeMember = (json: Json, { name, content }: XmlMember, depth: number): void => {
    const shape = content === undefined ? undefined : shapeOf(content)
    const values = listOf(json[name])
    if (shape?.primitive === undefined) {
      for (const value of values) {
        if (shape !== undefined) {
          if (!isObject(value)) refuse(`"${name}" is no object`)
          writeElement(name, value, shape, depth)
          continue
        }
        breakLine(depth)
        parts.push('<', name, '>')
        writeResource(value, depth + 1, '')
        breakLine(depth)
        parts.push('</', name, '>')
      }
      return
    }
    const others = listOf(json[`_${name}`])
    for (let at = 0; at < Math.max(values.length, others.length); at += 1) {
      const value = values[at] ?? undefined
      const more = isObject(others[at]) ? (others[at] as Json) : undefined
      if (shape.primitive === 'xhtml') {
        if (more !== undefined) refuse('a narrative has an id or an extension beside its text')
        breakLine(depth)
        parts.push(narrativeOf(value))
      } else if (value !== undefined || more !== undefined)
        writeElement(name, more ?? {}, shape, depth, value === undefined ? '' : attribute('value', textOf(value, name)))
    }
  }

  writeResource(resource, 0, ` xmlns="${FHIR_NAMESPACE}"`)
  return parts.join('')
}
