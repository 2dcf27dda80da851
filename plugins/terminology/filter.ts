/**
 * Applies filters of a value set to the concepts of a code system.
 * https://hl7.org/fhir/R4/valueset-filter-operator.html
 */
import type { CodeSystem, Concept, SystemHeader } from './code-system.ts'
import { descendantsOf } from './code-system.ts'
import { toPattern } from './pattern.ts'

export interface ValueSetFilter {
  readonly property: string
  readonly op: string
  readonly value: string
}

/** Thrown when a filter cannot be applied; the message says why. */
export class UnsupportedFilter extends Error {}

type Test = (concept: Concept) => boolean

/** Properties whose values are codes of the system. */
export const OF_CODES: ReadonlySet<string> = new Set(['code', 'concept', 'parent', 'child'])
export const HIERARCHICAL: ReadonlySet<string> = new Set(['is-a', 'descendent-of', 'is-not-a', 'generalizes'])

/** Values of a property of a concept. */
const valuesOf = (property: string, concept: Concept): readonly string[] => {
  switch (property) {
    case 'code':
    case 'concept':
      return [concept.code]
    case 'display':
      return concept.display === undefined ? [] : [concept.display]
    case 'definition':
      return concept.definition === undefined ? [] : [concept.definition]
    case 'parent':
      return [...concept.parents].map(({ code }) => code)
    case 'child':
      return [...concept.children].map(({ code }) => code)
    default:
      return concept.properties.get(property) ?? []
  }
}

/** Throws UnsupportedFilter where a filter by the hierarchy is about something else, or the hierarchy means something else. */
export const refuseHierarchy = ({ hierarchy, url }: SystemHeader, { property, op }: ValueSetFilter): void => {
  if (property !== 'concept' && property !== 'code') throw new UnsupportedFilter(`the filter ${property} ${op}`)
  if (hierarchy !== 'is-a') throw new UnsupportedFilter(`the hierarchy of ${url} means ${hierarchy}`)
}

/** Throws UnsupportedFilter for a pattern that is invalid, or could run too long. */
export const safePattern = (text: string): RegExp => {
  const pattern = toPattern(text)
  if (pattern === undefined) throw new UnsupportedFilter(`the pattern "${text.slice(0, 60)}" cannot be tried safely`)
  return pattern
}

const hierarchical = (system: CodeSystem, filter: ValueSetFilter): Test => {
  refuseHierarchy(system, filter)
  const { find, url } = system
  const { op, value } = filter
  const start = find(value)
  if (start === undefined) throw new UnsupportedFilter(`${value} is not in ${url}`)
  const found = descendantsOf(start, op === 'generalizes' ? 'parents' : 'children')
  if (op === 'is-not-a') return (concept) => !found.has(concept)
  if (op === 'descendent-of') return (concept) => concept !== start && found.has(concept)
  return (concept) => found.has(concept)
}

/** Throws UnsupportedFilter for a filter that is not supported. */
export const toTest = (system: CodeSystem, filter: ValueSetFilter): Test => {
  const { property, op, value } = filter
  if (HIERARCHICAL.has(op)) return hierarchical(system, filter)
  const any =
    (test: (one: string) => boolean): Test =>
    (concept) =>
      valuesOf(property, concept).some(test)
  // Where the system is not case-sensitive, the value is replaced by the code as the system writes it.
  const named = (text: string): string =>
    OF_CODES.has(property) && !system.isCaseSensitive ? (system.find(text)?.code ?? text) : text
  switch (op) {
    case '=': {
      const wanted = named(value)
      return any((one) => one === wanted)
    }
    case 'in':
    case 'not-in': {
      const wanted = new Set(value.split(',').map((one) => named(one.trim())))
      const among = any((one) => wanted.has(one))
      return op === 'in' ? among : (concept) => !among(concept)
    }
    case 'regex': {
      const pattern = safePattern(value)
      return any((one) => pattern.test(one))
    }
    case 'exists':
      return (concept) => valuesOf(property, concept).length > 0 === (value === 'true')
    default:
      throw new UnsupportedFilter(`the filter operator ${op}`)
  }
}
