/** Presents a concept of a code system as a code of a value set that contains the whole system. */
import type { CodeSystem, Concept } from '../code-system.ts'
import type { ExpandedCode } from '../expanded-codes.ts'

export const ofSystem = ({ url, version, language }: CodeSystem, concept: Concept): ExpandedCode => ({
  system: url,
  version,
  isPinned: true,
  code: concept.code,
  display: concept.display,
  language,
  designations: [],
  isInactive: concept.isInactive,
  isAbstract: concept.isAbstract,
  isUnknown: false,
  concept,
})
