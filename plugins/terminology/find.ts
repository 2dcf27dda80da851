/** Value sets and code systems by canonical: what users stored counts before what packages brought. */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../kernel/index.ts'
import type { Definitions } from '../packages/service.ts'
import { type CodeSystem, readCodeSystem } from './code-system.ts'
import type { Find } from './expansion.ts'

type Json = Readonly<Record<string, unknown>>

/** A stored resource by `url`, `url|version` or `Type/id`. */
export type FindStored = (type: string, name: string) => Promise<Json | undefined>

const MOST_CONCEPTS = 200_000 // of all code systems that are kept
/** Another server of the same database may have stored a new version: what is kept is looked up again after so long. */
export const KEPT_MS = 30_000

export interface Finder extends Find {
  /** Forgets everything: a value set or code system was written. */
  forget(): void
}

export const createFinder = (definitions: Definitions, stored: FindStored, clock: Clock): Finder => {
  const systems = new LRUCache<string, { readonly system: CodeSystem; readonly at: number }>({
    maxSize: MOST_CONCEPTS,
    sizeCalculation: ({ system }) => 1 + system.concepts.size,
  })
  const find = async (type: string, canonical: string): Promise<Json | undefined> => {
    const own = await stored(type, canonical)
    if (own !== undefined) return own
    const bar = canonical.lastIndexOf('|')
    const [url, version] = bar === -1 ? [canonical, undefined] : [canonical.slice(0, bar), canonical.slice(bar + 1)]
    const found = await definitions.find(type, url, version)
    return found === undefined ? undefined : (JSON.parse(found.json) as Json)
  }
  return {
    valueSet: (canonical) => find('ValueSet', canonical),
    async codeSystem(canonical) {
      const known = systems.get(canonical)
      if (known !== undefined && clock.now() - known.at < KEPT_MS) return known.system
      const resource = await find('CodeSystem', canonical)
      if (resource === undefined) return undefined
      const system = readCodeSystem(resource)
      systems.set(canonical, { system, at: clock.now() })
      return system
    },
    forget: () => systems.clear(),
  }
}
