/** Definitions of a request beside those of the server: what the request brings is found first. */
import { joinVersion } from './canonical.ts'
import { readCodeSystem } from './code-system.ts'
import { compareDefinitions } from './compare-definitions.ts'
import { type ConceptMap, readConceptMap } from './concept-map/concept-map.ts'
import type { MapFinder } from './concept-map/map-finder.ts'
import type { Json } from './expansion-contract.ts'
import type { DefinitionFinder } from './find.ts'
import { withImplicitValueSets } from './implicit/implicit-value-sets.ts'
import { createMemorySource, type MemorySource } from './memory-source.ts'

/** Finds a resource of the request by `url` or `url|version`. */
type FindGiven = (type: string, canonical: string) => Json | undefined

/** Of several versions of one url, the preferred one has its name without a version. */
const finderOf = (resources: readonly Json[]): FindGiven => {
  const byName = new Map<string, Json>()
  for (const one of [...resources].sort(compareDefinitions)) {
    const { resourceType, url, version } = one
    const whole = joinVersion(String(url), typeof version === 'string' ? version : undefined)
    for (const name of [String(url), whole]) {
      const key = `${resourceType} ${name}`
      if (!byName.has(key)) byName.set(key, one)
    }
  }
  return (type, canonical) => byName.get(`${type} ${canonical}`)
}

export interface DefinitionsBeside {
  readonly find: DefinitionFinder
  readonly maps: MapFinder
}

/** `resources` are CodeSystems, ValueSets and ConceptMaps with a `url`. */
export const definitionsBeside = ({ find, maps }: DefinitionsBeside, resources: readonly Json[]): DefinitionsBeside => {
  const given = finderOf(resources)
  const systems = new Map<Json, MemorySource>()
  const sourceOf = (resource: Json): MemorySource => {
    const known = systems.get(resource) ?? createMemorySource(readCodeSystem(resource))
    systems.set(resource, known)
    return known
  }
  const givenMaps = resources.filter(({ resourceType }) => resourceType === 'ConceptMap').map(readConceptMap)
  const namedMap = (canonical: string): ConceptMap | undefined => {
    const found = given('ConceptMap', canonical)
    return found && givenMaps.find(({ url, version }) => url === found.url && version === found.version)
  }
  return {
    find: withImplicitValueSets({
      ...find,
      async readName(type, text) {
        return resources.some(({ resourceType, url }) => resourceType === type && url === text)
          ? { url: text, version: undefined }
          : find.readName(type, text)
      },
      async valueSet(canonical) {
        return given('ValueSet', canonical) ?? find.valueSet(canonical)
      },
      async codeSystem(canonical) {
        const found = given('CodeSystem', canonical)
        return found === undefined ? find.codeSystem(canonical) : sourceOf(found).system
      },
      async source(canonical) {
        const found = given('CodeSystem', canonical)
        return found === undefined ? find.source(canonical) : sourceOf(found)
      },
    }),
    maps: {
      async named(canonical) {
        return namedMap(canonical) ?? maps.named(canonical)
      },
      async ofSystem(wanted) {
        const { system, isReverse } = wanted
        const own = givenMaps.filter(
          ({ status, groups, url = '' }) =>
            status !== 'retired' &&
            namedMap(url)?.url === url &&
            groups.some(({ source, target }) => (isReverse ? target : source) === system),
        )
        const urls = new Set(own.map(({ url }) => url))
        return [...own, ...(await maps.ofSystem(wanted)).filter(({ url }) => !urls.has(url))]
      },
    },
  }
}
