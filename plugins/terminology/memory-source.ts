/** A parsed code system as a `ConceptSource`. */
import { type CodeSystem, type Concept, type ConceptFacts, descendantsOf } from './code-system.ts'
import type { ConceptSource } from './concept-source.ts'
import { displayOfConcept } from './display.ts'
import { toTest } from './filter.ts'
import { matchesText, toMatchText, toSearchedText } from './match-text.ts'
import { PlaceSet } from './place-set.ts'

export interface MemorySource extends ConceptSource {
  readonly id: undefined
  readonly system: CodeSystem
  find(code: string): Concept | undefined
}

export const isInMemory = (source: ConceptSource): source is MemorySource => source.id === undefined

export const createMemorySource = (system: CodeSystem): MemorySource => {
  const { concepts: byCode, find, ...header } = system
  const size = byCode.size
  let concepts: readonly Concept[] | undefined
  /** In the order of their places. */
  const all = (): readonly Concept[] => {
    concepts ??= [...byCode.values()]
    return concepts
  }
  const conceptOf = ({ place }: ConceptFacts): Concept => all()[place] as Concept
  const where = (test: (concept: Concept) => boolean): PlaceSet =>
    PlaceSet.of(
      size,
      all().flatMap((one) => (test(one) ? [one.place] : [])),
    )
  const codesOf = (list: Iterable<Concept>): readonly string[] => Array.from(list, ({ code }) => code)
  return {
    ...header,
    ...{ system, size, id: undefined, find },
    findAll(codes) {
      const found = new Map<string, Concept>()
      for (const code of codes) {
        const concept = find(code)
        if (concept !== undefined) found.set(code, concept)
      }
      return found
    },
    at: (places) => places.map((place) => all()[place] as Concept),
    linked: (concept, direction) => codesOf(conceptOf(concept)[direction]),
    parentsOf: (places) => places.map((place) => Array.from((all()[place] as Concept).parents, (one) => one.place)),
    related: (concept, direction, most) =>
      codesOf(descendantsOf(conceptOf(concept), direction === 'above' ? 'parents' : 'children')).slice(0, most + 1),
    isWithin: (concept, other) => descendantsOf(conceptOf(other), 'children').has(conceptOf(concept)),
    select: (filter) => where(toTest(system, filter)),
    marked: (mark) => where(mark === 'inactive' ? ({ isInactive }) => isInactive : ({ isAbstract }) => isAbstract),
    matching(text, language) {
      const wanted = toMatchText(text)
      return where((one) =>
        matchesText(toMatchText(one.code), toSearchedText(displayOfConcept(system, one, language) ?? ''), wanted),
      )
    },
  }
}
