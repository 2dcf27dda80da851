/** A concept as it is put into the terminology index. */
import type { CodeSystem, Concept, Designation, PropertyValue } from '../code-system.ts'

export interface LoadedConcept {
  /** No other concept of its code system has the same code. */
  readonly code: string
  readonly display?: string | undefined
  readonly definition?: string | undefined
  readonly designations?: readonly Designation[]
  readonly properties?: readonly PropertyValue[]
  /** Further values of properties that filters find the concept by: a property and a text. */
  readonly filterTexts?: readonly (readonly [property: string, text: string])[]
  /** Codes of the concepts directly above it, written as they are there. Those that no concept has are left out. */
  readonly parents?: readonly string[]
  readonly isInactive?: boolean
  readonly isAbstract?: boolean
}

export const toLoaded = ({ parents, values, ...concept }: Concept): LoadedConcept => ({
  ...concept,
  properties: values,
  parents: Array.from(parents, ({ code }) => code),
})

/** The concepts of a parsed code system, in its order, at most so many at once. */
export function* loadedConcepts({ concepts }: CodeSystem, atOnce: number): Generator<readonly LoadedConcept[]> {
  let batch: LoadedConcept[] = []
  for (const concept of concepts.values()) {
    batch.push(toLoaded(concept))
    if (batch.length < atOnce) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
