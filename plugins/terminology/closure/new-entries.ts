/** Which concepts are above which, for concepts that are added to others of one code system. */
import type { ConceptFacts } from '../code-system.ts'
import type { ConceptSource } from '../concept-source.ts'

/** A concept and one that is above it. */
export type Above = readonly [below: string, above: string]

/** Codes above and below a concept. */
export interface Related {
  readonly above: readonly string[]
  readonly below: readonly string[]
}

const MAX_RELATED = 1_000_000

export const relatedOf = async (source: ConceptSource, concept: ConceptFacts): Promise<Related> => ({
  above: await source.related(concept, 'above', MAX_RELATED),
  below: await source.related(concept, 'below', MAX_RELATED),
})

/** `added` has what is above and below each concept that is added. */
export const newEntries = (
  known: Iterable<string>,
  added: readonly string[],
  related: ReadonlyMap<string, Related>,
): readonly Above[] => {
  const before = new Set(known)
  const fresh = new Set(added)
  const entries: Above[] = []
  for (const code of fresh) {
    const { above = [], below = [] } = related.get(code) ?? {}
    for (const one of above) if (one !== code && (before.has(one) || fresh.has(one))) entries.push([code, one])
    // What is below and new has its entry from its own ancestors.
    for (const one of below) if (one !== code && before.has(one)) entries.push([one, code])
  }
  return entries
}
