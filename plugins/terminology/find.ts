/** Finds value sets and code systems by canonical: stored resources win over those of packages, and these over pulled ones. */
import { LRUCache } from 'lru-cache'
import type { MemoryBudget } from '../../kernel/index.ts'
import type { CurrentResource } from '../fhir/service.ts'
import type { Definition, Definitions } from '../packages/service.ts'
import { type Canonical, readCanonical } from './canonical.ts'
import { type CodeSystem, parseCodeSystem, readCodeSystemInSlices } from './code-system.ts'
import { compareDefinitions } from './compare-definitions.ts'
import type { ConceptSource } from './concept-source.ts'
import type { FindDefinition } from './expansion-contract.ts'
import type { Freshness } from './freshness.ts'
import { parseInSlices } from './in-slices.ts'
import type { IndexReader } from './indexed/index-reader.ts'
import { createMemorySource, isInMemory } from './memory-source.ts'
import { type PulledDefinitions, parsePulled } from './pull/pulled-definitions.ts'
import type { FindStored } from './stored-canonicals.ts'

type Json = Readonly<Record<string, unknown>>

const MAX_CONCEPTS = 200_000 // of all cached code systems, in 512 MiB of memory
const MAX_MISSING = 1000
/** characters; a longer canonical is not cached */
const MAX_CHARACTERS = 500

export interface DefinitionFinder extends FindDefinition {
  /** A code system that a caller has read. */
  sourceOf(held: CurrentResource): Promise<ConceptSource>
  /**
   * The value set that an element is bound to, by the canonical of a StructureDefinition and the element's id or path.
   * Undefined where there is none.
   */
  boundValueSet(structure: string, element: string): Promise<string | undefined>
  /** Clears the caches, after a value set or code system was written. */
  forget(): void
}

export interface FinderParts {
  readonly memory: MemoryBudget
  readonly definitions: Definitions
  readonly stored: FindStored
  readonly index: IndexReader
  readonly pulled: PulledDefinitions
  readonly freshness: Freshness
}

/** How one kind of answer is read, of what is stored and of what is in a package. */
interface Reading<T> {
  stored(held: CurrentResource): T | Promise<T>
  loaded?(canonical: Canonical): Promise<T | undefined>
  packaged(definition: Definition): T | Promise<T>
  pulled(canonical: Canonical, json: string | undefined): T | undefined | Promise<T | undefined>
}

const JSON_READING: Reading<Json> = {
  stored: ({ json }) => parseInSlices(json),
  packaged: ({ json }) => parseInSlices(json),
  pulled: (_canonical, json) => parsePulled(json),
}

export const createDefinitionFinder = ({
  memory,
  definitions,
  stored,
  index,
  pulled,
  freshness,
}: FinderParts): DefinitionFinder => {
  const sources = new LRUCache<string, { readonly source: ConceptSource; readonly at: number }>({
    maxSize: memory.share(MAX_CONCEPTS, { least: MAX_CONCEPTS / 8 }),
    sizeCalculation: ({ source }) => 1 + (isInMemory(source) ? source.size : 0),
  })
  // Code systems of the index that were asked for as a whole.
  const wholes = new LRUCache<string, { readonly system: CodeSystem; readonly at: number }>({
    maxSize: memory.share(MAX_CONCEPTS, { least: MAX_CONCEPTS / 8 }),
    sizeCalculation: ({ system }) => 1 + system.concepts.size,
  })
  // Time of the look-up of missing code systems, by canonical: value sets often list codes of systems that this server
  // does not have.
  const missing = new LRUCache<string, number>({ max: MAX_MISSING })
  // Counts writes, so that a result that was begun before a write is not cached after it.
  let life = 0
  const findNamed = async <T extends object>(
    type: string,
    { url, version }: Canonical,
    reading: Reading<T>,
  ): Promise<T | undefined> => {
    const own = await stored(type, url, version, reading.stored)
    // Releases come with a CodeSystem that says everything of itself but its codes.
    const isStub = own === undefined || (own as Partial<ConceptSource>).content === 'not-present'
    const loaded = isStub ? await reading.loaded?.({ url, version }) : undefined
    if (loaded !== undefined) return loaded
    if (own !== undefined) return own
    const found = await definitions.find(type, url, version)
    if (found !== undefined && (version === undefined || found.version === version)) return reading.packaged(found)
    return reading.pulled({ url, version }, await pulled.find(type, { url, version }))
  }
  /** R4 has code systems whose url holds a bar: a name counts whole before it counts as a url with a version. */
  const findAs = async <T extends object>(
    type: string,
    canonical: string,
    reading: Reading<T>,
  ): Promise<T | undefined> => {
    const named = readCanonical(canonical)
    const whole =
      named.version === undefined ? undefined : await findNamed(type, { url: canonical, version: undefined }, reading)
    return whole ?? findNamed(type, named, reading)
  }
  const find = (type: string, canonical: string): Promise<Json | undefined> => findAs(type, canonical, JSON_READING)

  const sourceOf = async (held: CurrentResource): Promise<ConceptSource> => {
    const indexed = await index.stored(held)
    if (indexed !== undefined) return indexed
    const source = createMemorySource(await parseCodeSystem(held.json))
    index.missedStored(held, source.size)
    return source
  }
  const SOURCE: Reading<ConceptSource> = {
    stored: sourceOf,
    loaded: index.loaded,
    async packaged(definition) {
      const indexed = await index.packaged(definition)
      if (indexed !== undefined) return indexed
      const source = createMemorySource(await parseCodeSystem(definition.json))
      index.missedPackaged(definition, source.size)
      return source
    },
    async pulled(canonical, json) {
      const [large, resource] = [await index.pulled(canonical), await parsePulled(json)]
      if (resource === undefined) return large
      const small = createMemorySource(await readCodeSystemInSlices(resource))
      return large !== undefined && compareDefinitions(large, small) < 0 ? large : small
    },
  }

  const finder: DefinitionFinder = {
    valueSet: (canonical) => find('ValueSet', canonical),
    async readName(type, text) {
      if (!text.includes('|')) return { url: text, version: undefined }
      const found = type === 'CodeSystem' ? await finder.source(text) : await find(type, text)
      return found?.url === text ? { url: text, version: undefined } : readCanonical(text)
    },
    sourceOf,
    async source(canonical) {
      const known = sources.get(canonical)
      if (known !== undefined && freshness.holds(known.at)) return known.source
      const looked = missing.get(canonical)
      if (looked !== undefined && freshness.holds(looked)) return undefined
      const begun = life
      const source = await findAs('CodeSystem', canonical, SOURCE)
      const isCurrent = begun === life
      if (source === undefined) {
        if (isCurrent && canonical.length <= MAX_CHARACTERS) missing.set(canonical, freshness.now())
        return undefined
      }
      if (isCurrent) sources.set(canonical, { source, at: freshness.now() })
      return source
    },
    async codeSystem(canonical) {
      const source = await finder.source(canonical)
      if (source === undefined) return undefined
      if (isInMemory(source)) return source.system
      const known = wholes.get(canonical)
      if (known !== undefined && freshness.holds(known.at)) return known.system
      const begun = life
      const resource = await find('CodeSystem', canonical)
      if (resource === undefined) return undefined
      const system = await readCodeSystemInSlices(resource)
      if (begun === life) wholes.set(canonical, { system, at: freshness.now() })
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
      sources.clear()
      wholes.clear()
      missing.clear()
    },
  }
  return finder
}
