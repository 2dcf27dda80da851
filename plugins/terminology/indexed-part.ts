/** The codes of one version of a code system of the index, in a value set. */
import type { CodeSystem, ConceptFacts } from './code-system.ts'
import type { ConceptSource } from './concept-source.ts'
import type { ExpandedCode } from './expanded-codes.ts'
import type { PlaceSet } from './place-set.ts'

export interface IndexedPart {
  readonly source: ConceptSource
  /** What all of its codes have in common. */
  readonly common: Pick<ExpandedCode, 'system' | 'version' | 'isPinned' | 'language'>
  /** Code systems that add designations. */
  readonly supplements: readonly CodeSystem[]
  readonly places: PlaceSet
}

/** A concept of the part as a code of the value set. */
export const toExpanded = ({ source, common, supplements }: IndexedPart, concept: ConceptFacts): ExpandedCode => ({
  ...common,
  ...{ source, concept, code: concept.code, display: concept.display },
  designations: supplements.flatMap((one) => one.find(concept.code)?.designations ?? []),
  isInactive: concept.isInactive,
  isAbstract: concept.isAbstract,
  isUnknown: false,
})
