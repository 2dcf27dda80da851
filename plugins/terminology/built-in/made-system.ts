/** Makes a code system of what a library knows. */
import { type CodeSystem, type Concept, readCodeSystem } from '../code-system.ts'
import type { Json } from '../expansion-contract.ts'

export interface MadeSystem {
  readonly url: string
  readonly name: string
  readonly isCaseSensitive: boolean
  readonly property?: readonly Json[]
  /** Concepts that can be listed. */
  readonly concepts: readonly Json[]
  /**
   * The concept of a code that is not listed, as in a CodeSystem; undefined for one that is not valid. Given for code systems
   * whose codes are built by rules.
   */
  readonly build?: (code: string) => Json | undefined
}

/** Longer codes are not looked at. */
const MAX_CHARACTERS = 200

export const madeSystem = ({ url, name, isCaseSensitive, property, concepts, build }: MadeSystem): CodeSystem => {
  const resource: Json = {
    url,
    name,
    content: 'complete',
    caseSensitive: isCaseSensitive,
    ...(property !== undefined && { property }),
  }
  const listed = readCodeSystem({ ...resource, concept: concepts })
  if (build === undefined) return { ...listed, isBuiltIn: true }
  const built = (code: string): Concept | undefined => {
    const concept = code.length > MAX_CHARACTERS ? undefined : build(code)
    return concept && readCodeSystem({ ...resource, concept: [concept] }).find(String(concept.code))
  }
  return { ...listed, isBuiltIn: true, isGrammar: true, find: (code) => listed.find(code) ?? built(code) }
}
