/** Which concepts are above which, for concepts that are added to others of one code system. */
import { type CodeSystem, type Concept, descendantsOf } from '../code-system.ts'

/** A concept and one that is above it. */
export type Above = readonly [below: string, above: string]

/** Concepts that the code system does not have any more are left out of `known`; those of `added` have to be there. */
export const newEntries = (system: CodeSystem, known: Iterable<string>, added: readonly string[]): readonly Above[] => {
  const found = (code: string): Concept[] => {
    const one = system.find(code)
    return one === undefined ? [] : [one]
  }
  const before = new Set([...known].flatMap(found))
  const fresh = new Set(added.flatMap(found))
  const entries: Above[] = []
  for (const one of fresh) {
    for (const above of descendantsOf(one, 'parents'))
      if (above !== one && (before.has(above) || fresh.has(above))) entries.push([one.code, above.code])
    // What is below and new has its entry from its own ancestors.
    for (const below of descendantsOf(one, 'children'))
      if (below !== one && before.has(below)) entries.push([below.code, one.code])
  }
  return entries
}
