/**
 * A CodeSystem ready for queries: its concepts by code, with their parents and children.
 * https://hl7.org/fhir/R4/codesystem.html
 */
import { changedAt } from './changed-at.ts'
import { atOnce, inSlices, parseInSlices, type Steps } from './in-slices.ts'

type Json = Readonly<Record<string, unknown>>

/** Another display text of a code. */
export interface Designation {
  readonly language: string | undefined
  /** A Coding. */
  readonly use: Json | undefined
  readonly value: string
}

/** A property with its value as FHIR writes it: `{ valueCode: 'x' }`. */
export interface PropertyValue {
  readonly code: string
  readonly value: Json
}

/** A concept without its parents and children. */
export interface ConceptFacts {
  /** Its number in the code system, from 0, in the order of the resource. */
  readonly place: number
  readonly code: string
  readonly display: string | undefined
  readonly definition: string | undefined
  readonly designations: readonly Designation[]
  /** Values as text, by the code of their property. */
  readonly properties: ReadonlyMap<string, readonly string[]>
  /** The same values with the declared types of their properties. */
  readonly values: readonly PropertyValue[]
  /** True for a concept that is not to be used any more. */
  readonly isInactive: boolean
  /** True for a concept that only groups others, and is not selected itself. */
  readonly isAbstract: boolean
}

export interface Concept extends ConceptFacts {
  readonly parents: Set<Concept>
  readonly children: Set<Concept>
}

/** What a code system says of itself. */
export interface SystemHeader {
  readonly url: string
  readonly version: string | undefined
  readonly name: string | undefined
  readonly status: string | undefined
  /** When it was changed last, a dateTime. */
  readonly changed: string | undefined
  /** The canonical of the code system that this one is a supplement of. */
  readonly supplements: string | undefined
  /** The canonical of the value set with all of its codes. */
  readonly valueSet?: string | undefined
  /** Language of the displays. */
  readonly language: string | undefined
  /** `complete`, or why it is not: `not-present`, `example`, `fragment`, `supplement`. */
  readonly content: string
  /** The meaning of nesting; `is-a` if the resource does not say. */
  readonly hierarchy: string
  /** False when `caseSensitive` is false: then A and a are one code. */
  readonly isCaseSensitive: boolean
  /** Made of what a library knows today: value sets may list codes of other editions. */
  readonly isBuiltIn?: true
  /** Codes are built by rules: `find` tells of more codes than there are concepts. */
  readonly isGrammar?: true
}

export interface CodeSystem extends SystemHeader {
  /** Concepts by their code as written. */
  readonly concepts: ReadonlyMap<string, Concept>
  /** The concept of a code, compared without case where the system is not case-sensitive. */
  find(code: string): Concept | undefined
}

const PARENT = /(?:^|#)(?:parent|subsumedBy)$/
const CHILD = /(?:^|#)child$/

const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as Json[]) : [])
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

const memberOf = (property: Json): string | undefined =>
  Object.keys(property).find((member) => member.startsWith('value'))

const textOfValue = (member: string, value: unknown): string =>
  String(member === 'valueCoding' ? (value as Json).code : value)

/** The value of a property as filters compare it. */
export const textOfProperty = ({ value }: PropertyValue): string => {
  const [[member, one] = ['', undefined]] = Object.entries(value)
  return textOfValue(member, one)
}

/** Types that are all JSON strings, so that a value of one may be returned as another. */
const TEXTUAL = new Set(['code', 'string', 'dateTime'])

/** The `value[x]` member of the declared type, where the value can have that type; else the member it is in. */
const declaredMember = (type: string | undefined, member: string, value: unknown): string => {
  if (type === undefined) return member
  const fits =
    (TEXTUAL.has(type) && typeof value === 'string') ||
    (type === 'decimal' && typeof value === 'number') ||
    (type === 'integer' && Number.isInteger(value))
  return fits ? `value${type.charAt(0).toUpperCase()}${type.slice(1)}` : member
}

export const readDesignations = (list: unknown): readonly Designation[] =>
  listOf(list).flatMap(({ language, use, value }) =>
    typeof value === 'string' ? [{ language: textOf(language), use: use as Json | undefined, value }] : [],
  )

/** The codes of properties that mean one of http://hl7.org/fhir/concept-properties, by code or by uri. */
const meaning = (declared: readonly Json[], name: string): readonly string[] => [
  name,
  ...declared.filter(({ uri }) => String(uri).endsWith(`#${name}`)).map(({ code }) => String(code)),
]

/** The properties that link a concept to others, and whether these are its parents; else they are its children. */
export const linksOf = (resource: Json): readonly (readonly [code: string, isParent: boolean])[] =>
  listOf(resource.property).flatMap(({ code, uri }) => {
    const isMeant = (pattern: RegExp): boolean => pattern.test(String(code)) || pattern.test(String(uri))
    const isParent = isMeant(PARENT)
    return isParent || isMeant(CHILD) ? [[String(code), isParent] as const] : []
  })

const AT_ONCE = 200 // concepts that are read without a pause

function* reading(resource: Json): Steps<CodeSystem> {
  const concepts = new Map<string, Concept>()
  const declared = listOf(resource.property)
  const types = new Map(declared.map(({ code, type }) => [String(code), textOf(type)]))
  const [inactive, status, notSelectable] = ['inactive', 'status', 'notSelectable'].map((name) =>
    meaning(declared, name),
  ) as [readonly string[], readonly string[], readonly string[]]
  const link = (parent: Concept, child: Concept): void => {
    parent.children.add(child)
    child.parents.add(parent)
  }
  const made = ({ code, display, definition, property, designation }: Json): Concept => {
    const properties = new Map<string, string[]>()
    const values: PropertyValue[] = []
    for (const one of listOf(property)) {
      const member = memberOf(one)
      if (member === undefined) continue
      const [name, value] = [String(one.code), one[member]]
      properties.set(name, [...(properties.get(name) ?? []), textOfValue(member, value)])
      values.push({ code: name, value: { [declaredMember(types.get(name), member, value)]: value } })
    }
    const has = (codes: readonly string[], ...wanted: readonly string[]): boolean =>
      codes.some((name) => properties.get(name)?.some((value) => wanted.includes(value)) === true)
    return {
      place: concepts.size,
      code: code as string,
      display: textOf(display),
      definition: textOf(definition),
      designations: readDesignations(designation),
      properties,
      values,
      isInactive: has(inactive, 'true') || has(status, 'retired', 'inactive'),
      isAbstract: has(notSelectable, 'true'),
      parents: new Set<Concept>(),
      children: new Set<Concept>(),
    }
  }
  let seen = 0
  const read = function* (list: unknown, parent: Concept | undefined): Steps<void> {
    for (const one of listOf(list)) {
      seen += 1
      if (seen % AT_ONCE === 0) yield
      const { code } = one
      if (typeof code !== 'string') continue
      const concept = concepts.get(code) ?? made(one)
      concepts.set(code, concept)
      if (parent !== undefined) link(parent, concept)
      if (one.concept !== undefined) yield* read(one.concept, concept)
    }
  }
  yield* read(resource.concept, undefined)

  const isCaseSensitive = resource.caseSensitive !== false
  const folded = isCaseSensitive
    ? undefined
    : new Map(Array.from(concepts.values(), (one) => [one.code.toLowerCase(), one] as const))
  const find = (code: string): Concept | undefined => concepts.get(code) ?? folded?.get(code.toLowerCase())

  for (const [code, isParent] of linksOf(resource))
    for (const concept of concepts.values()) {
      if (concept.place % AT_ONCE === 0) yield
      for (const other of concept.properties.get(code) ?? []) {
        const found = find(other)
        if (found !== undefined) link(isParent ? found : concept, isParent ? concept : found)
      }
    }
  return {
    url: String(resource.url),
    version: textOf(resource.version),
    name: textOf(resource.name),
    status: textOf(resource.status),
    changed: changedAt(resource),
    supplements: textOf(resource.supplements),
    valueSet: textOf(resource.valueSet),
    language: textOf(resource.language),
    content: textOf(resource.content) ?? 'not-present',
    hierarchy: textOf(resource.hierarchyMeaning) ?? 'is-a',
    isCaseSensitive,
    concepts,
    find,
  }
}

export const readCodeSystem = (resource: Json): CodeSystem => atOnce(reading(resource))

export const readCodeSystemInSlices = (resource: Json): Promise<CodeSystem> => inSlices(reading(resource))

/** The same of the text of a resource. */
export const parseCodeSystem = async (text: string): Promise<CodeSystem> =>
  readCodeSystemInSlices(await parseInSlices(text))

/** The concept and all of its ancestors or descendants. Cycles are allowed. */
export const descendantsOf = (start: Concept, direction: 'parents' | 'children'): ReadonlySet<Concept> => {
  const found = new Set([start])
  for (const one of found) for (const next of one[direction]) found.add(next)
  return found
}
