/** Finds value sets and code systems by canonical: stored resources win over those of packages. */
import { LRUCache } from 'lru-cache'
import type { Definitions } from '../packages/service.ts'
import { type Canonical, readCanonical } from './canonical.ts'
import { type CodeSystem, readCodeSystem } from './code-system.ts'
import type { FindDefinition } from './expansion-contract.ts'
import type { Freshness } from './freshness.ts'

type Json = Readonly<Record<string, unknown>>

/** Finds a stored resource by `url`, with its version where that is given, or by `Type/id`. */
export type FindStoredDefinition = (type: string, name: string, version?: string) => Promise<Json | undefined>

const MAX_CONCEPTS = 200_000 // of all cached code systems
const MAX_MISSING = 1000
/** characters; a longer canonical is not cached */
const MAX_CHARACTERS = 500

export interface DefinitionFinder extends FindDefinition {
  /**
   * The value set that an element is bound to, by the canonical of a StructureDefinition and the element's id or path.
   * Undefined where there is none.
   */
  boundValueSet(structure: string, element: string): Promise<string | undefined>
  /** Clears the caches, after a value set or code system was written. */
  forget(): void
}

export const createDefinitionFinder = (
  definitions: Definitions,
  stored: FindStoredDefinition,
  freshness: Freshness,
): DefinitionFinder => {
  const systems = new LRUCache<string, { readonly system: CodeSystem; readonly at: number }>({
    maxSize: MAX_CONCEPTS,
    sizeCalculation: ({ system }) => 1 + system.concepts.size,
  })
  // Time of the look-up of missing code systems, by canonical: value sets often list codes of systems that this server
  // does not have.
  const missing = new LRUCache<string, number>({ max: MAX_MISSING })
  // Counts writes, so that a result that was begun before a write is not cached after it.
  let life = 0
  const findNamed = async (type: string, { url, version }: Canonical): Promise<Json | undefined> => {
    const own = await stored(type, url, version)
    if (own !== undefined) return own
    const found = await definitions.find(type, url, version)
    if (found === undefined || (version !== undefined && found.version !== version)) return undefined
    return JSON.parse(found.json) as Json
  }
  /** R4 has code systems whose url holds a bar: a name counts whole before it counts as a url with a version. */
  const find = async (type: string, canonical: string): Promise<Json | undefined> => {
    const named = readCanonical(canonical)
    const whole =
      named.version === undefined ? undefined : await findNamed(type, { url: canonical, version: undefined })
    return whole ?? findNamed(type, named)
  }
  const finder: DefinitionFinder = {
    valueSet: (canonical) => find('ValueSet', canonical),
    async readName(type, text) {
      if (!text.includes('|')) return { url: text, version: undefined }
      const found = type === 'CodeSystem' ? await finder.codeSystem(text) : await find(type, text)
      return found?.url === text ? { url: text, version: undefined } : readCanonical(text)
    },
    async codeSystem(canonical) {
      const known = systems.get(canonical)
      if (known !== undefined && freshness.holds(known.at)) return known.system
      const looked = missing.get(canonical)
      if (looked !== undefined && freshness.holds(looked)) return undefined
      const begun = life
      const resource = await find('CodeSystem', canonical)
      if (resource === undefined) {
        if (begun === life && canonical.length <= MAX_CHARACTERS) missing.set(canonical, freshness.now())
        return undefined
      }
      const system = readCodeSystem(resource)
      if (begun === life) systems.set(canonical, { system, at: freshness.now() })
      return system
    },
    async boundValueSet(structure, element) {
      const { snapshot } = (await find('StructureDefinition', structure)) ?? {}
      const { element: elements = [] } = (snapshot ?? {}) as { readonly element?: readonly Json[] }
      const found = elements.find(({ id }) => id === element) ?? elements.find(({ path }) => path === element)
      const { valueSet } = (found?.binding ?? {}) as { readonly valueSet?: string }
      return valueSet
    },
    forget() {
      life += 1
      systems.clear()
      missing.clear()
    },
  }
  return finder
}
