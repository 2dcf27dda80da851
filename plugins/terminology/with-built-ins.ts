/** Adds code systems that libraries know to those that are stored or installed, which come first. */
import { createBuiltInSystems } from './built-in/built-in-systems.ts'
import type { DefinitionFinder } from './find.ts'

export const withBuiltIns = (find: DefinitionFinder): DefinitionFinder => {
  const builtIn = createBuiltInSystems()
  return {
    ...find,
    async codeSystem(canonical) {
      const found = await find.codeSystem(canonical)
      // A package may describe a code system without its codes.
      return found === undefined || found.content === 'not-present' ? (builtIn(canonical) ?? found) : found
    },
  }
}
