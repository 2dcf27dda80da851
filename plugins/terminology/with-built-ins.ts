/** Adds code systems that libraries know to those that are stored or installed, which come first. */
import { createBuiltInSystems } from './built-in/built-in-systems.ts'
import type { CodeSystem } from './code-system.ts'
import type { ConceptSource } from './concept-source.ts'
import type { DefinitionFinder } from './find.ts'
import { createMemorySource } from './memory-source.ts'

/** Codes that are built by rules have no place, and none is above another. */
const toSource = (system: CodeSystem): ConceptSource => {
  const source = createMemorySource(system)
  if (system.isGrammar !== true) return source
  return {
    ...source,
    linked: () => [],
    related: ({ code }) => [code],
    isWithin: (one, other) => one.code === other.code,
  }
}

export const withBuiltIns = (find: DefinitionFinder): DefinitionFinder => {
  const builtIn = createBuiltInSystems()
  const sources = new Map<CodeSystem, ConceptSource>()
  const sourceOf = (system: CodeSystem): ConceptSource => {
    const known = sources.get(system) ?? toSource(system)
    sources.set(system, known)
    return known
  }
  return {
    ...find,
    async codeSystem(canonical) {
      const found = await find.codeSystem(canonical)
      // A package may describe a code system without its codes.
      return found === undefined || found.content === 'not-present' ? (builtIn(canonical) ?? found) : found
    },
    async source(canonical) {
      const found = await find.source(canonical)
      if (found !== undefined && found.content !== 'not-present') return found
      const known = builtIn(canonical)
      return known === undefined ? found : sourceOf(known)
    },
  }
}
