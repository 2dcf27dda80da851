/** A CodeSystem as it is asked: its concepts by code, what lies above and below each. https://hl7.org/fhir/R4/codesystem.html */

export interface Concept {
  readonly code: string
  readonly display: string | undefined
  readonly definition: string | undefined
  /** Values as text, by the code of their property. */
  readonly properties: ReadonlyMap<string, readonly string[]>
  readonly parents: Set<Concept>
  readonly children: Set<Concept>
}

export interface CodeSystem {
  readonly url: string
  readonly version: string | undefined
  readonly name: string | undefined
  /** `complete`, or what is missing: `not-present`, `example`, `fragment`, `supplement`. */
  readonly content: string
  /** What nesting means; `is-a` unless it says otherwise. */
  readonly hierarchy: string
  readonly concepts: ReadonlyMap<string, Concept>
}

type Json = Readonly<Record<string, unknown>>

const PARENT = /(?:^|#)(?:parent|subsumedBy)$/
const CHILD = /(?:^|#)child$/

const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as Json[]) : [])
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

const textOfValue = (property: Json): string | undefined => {
  for (const [member, value] of Object.entries(property))
    if (member.startsWith('value')) return String(member === 'valueCoding' ? (value as Json).code : value)
  return undefined
}

export const readCodeSystem = (resource: Json): CodeSystem => {
  const concepts = new Map<string, Concept>()
  const link = (parent: Concept, child: Concept): void => {
    parent.children.add(child)
    child.parents.add(parent)
  }
  const read = (list: unknown, parent: Concept | undefined): void => {
    for (const { code, display, definition, property, concept } of listOf(list)) {
      if (typeof code !== 'string') continue
      const properties = new Map<string, string[]>()
      for (const one of listOf(property)) {
        const value = textOfValue(one)
        if (value !== undefined) properties.set(String(one.code), [...(properties.get(String(one.code)) ?? []), value])
      }
      const made = concepts.get(code) ?? {
        code,
        display: textOf(display),
        definition: textOf(definition),
        properties,
        parents: new Set<Concept>(),
        children: new Set<Concept>(),
      }
      concepts.set(code, made)
      if (parent !== undefined) link(parent, made)
      read(concept, made)
    }
  }
  read(resource.concept, undefined)
  // Some properties say of a concept that another one lies above or below.
  for (const { code, uri } of listOf(resource.property)) {
    const isMeant = (pattern: RegExp): boolean => pattern.test(String(code)) || pattern.test(String(uri))
    const [isParent, isChild] = [isMeant(PARENT), isMeant(CHILD)]
    if (!isParent && !isChild) continue
    for (const concept of concepts.values())
      for (const other of concept.properties.get(String(code)) ?? []) {
        const found = concepts.get(other)
        if (found !== undefined) link(isParent ? found : concept, isParent ? concept : found)
      }
  }
  return {
    url: String(resource.url),
    version: textOf(resource.version),
    name: textOf(resource.name),
    content: textOf(resource.content) ?? 'not-present',
    hierarchy: textOf(resource.hierarchyMeaning) ?? 'is-a',
    concepts,
  }
}

/** The concept and everything in one direction from it; a circle ends. */
export const reach = (start: Concept, direction: 'parents' | 'children'): ReadonlySet<Concept> => {
  const found = new Set([start])
  for (const one of found) for (const next of one[direction]) found.add(next)
  return found
}

/** Concepts that are not to be used any more. http://hl7.org/fhir/concept-properties */
export const isInactive = ({ properties }: Concept): boolean =>
  properties.get('inactive')?.includes('true') === true ||
  (properties.get('status') ?? []).some((status) => status === 'retired' || status === 'inactive')
