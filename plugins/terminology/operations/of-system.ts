/**
 * Converts a concept of a code system to a code of a value set that contains the whole system, so that operations on code systems
 * share the code of those on value sets.
 */
import type { ConceptFacts } from '../code-system.ts'
import type { ConceptSource } from '../concept-source.ts'
import type { ExpandedCode } from '../expanded-codes.ts'

export const ofSystem = (source: ConceptSource, concept: ConceptFacts): ExpandedCode => ({
  system: source.url,
  version: source.version,
  isPinned: true,
  code: concept.code,
  display: concept.display,
  language: source.language,
  designations: [],
  isInactive: concept.isInactive,
  isAbstract: concept.isAbstract,
  isUnknown: false,
  ...{ concept, source },
})
