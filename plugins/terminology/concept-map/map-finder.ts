/**
 * Finds ConceptMaps by canonical, and those that map codes of a system. Stored ones win over those of packages, and these over
 * those that were pulled, which are found by canonical only.
 */
import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { CurrentResource, Resources } from '../../fhir/service.ts'
import type { Definition, Definitions } from '../../packages/service.ts'
import { type Canonical, readCanonical } from '../canonical.ts'
import { compareDefinitions } from '../compare-definitions.ts'
import { TooManyMaps } from '../errors.ts'
import type { Json } from '../expansion-contract.ts'
import { literalId } from '../operations/literal-id.ts'
import { orNone } from '../or-none.ts'
import { type PulledDefinitions, parsePulled } from '../pull/pulled-definitions.ts'
import { type ConceptMap, parseConceptMap, readConceptMapInSlices } from './concept-map.ts'

/** Codes and mappings of all cached maps. */
const MAX_MAPPINGS = 400_000
/** Stored maps that map codes of one system and are looked through where the request names no map. */
const MAX_FOUND = 200
/** Stored versions of one map that are compared, the newest ones. */
const MAX_VERSIONS = 50

export interface MapsWanted {
  /** The code system of the code. */
  readonly system: string
  /** The code is one that others are mapped to. */
  readonly isReverse: boolean
}

export interface MapFinder {
  /** By canonical URL, with `|version` or without, or `ConceptMap/id`. */
  named(canonical: string): Promise<ConceptMap | undefined>
  /** One map of each canonical URL; none that is retired. Throws 400 where too many are stored. */
  ofSystem(wanted: MapsWanted): Promise<readonly ConceptMap[]>
}

export interface MapFinderParts {
  readonly definitions: Definitions
  readonly resources: () => Resources
  readonly pulled: PulledDefinitions
}

/** What a map of a package is found by. */
interface Summary {
  readonly definition: Definition
  readonly sources: ReadonlySet<unknown>
  readonly targets: ReadonlySet<unknown>
}

const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as Json[]) : [])

const summaryOf = (definition: Definition): Summary | undefined => {
  const { group, status } = JSON.parse(definition.json) as Json
  if (status === 'retired') return undefined
  const groups = listOf(group)
  return {
    definition,
    sources: new Set(groups.map(({ source }) => source)),
    targets: new Set(groups.map(({ target }) => target)),
  }
}

export const createMapFinder = ({ definitions, resources, pulled }: MapFinderParts): MapFinder => {
  // The key of a stored map has its version, and that of a map of a package the installed set: neither changes.
  const kept = new LRUCache<string, ConceptMap>({ maxSize: MAX_MAPPINGS, sizeCalculation: ({ size }) => size })
  const made = async <T extends ConceptMap | undefined>(
    key: string,
    make: () => Promise<T>,
  ): Promise<ConceptMap | T> => {
    const known = kept.get(key)
    if (known !== undefined) return known
    const map = await make()
    if (map !== undefined) kept.set(key, map)
    return map
  }
  const ofPackage = (one: Definition): Promise<ConceptMap> =>
    made(`${definitions.fingerprint} ${one.package} ${one.id}`, () => parseConceptMap(one.json))

  const pulledNamed = async (canonical: Canonical): Promise<ConceptMap | undefined> => {
    const text = await pulled.find('ConceptMap', canonical)
    if (text === undefined) return undefined
    return made(`pulled ${hash('sha256', text)}`, async () => {
      const resource = await parsePulled(text)
      return resource && readConceptMapInSlices(resource)
    })
  }

  let summaries: { readonly fingerprint: string; readonly all: Promise<readonly Summary[]> } | undefined
  const packaged = (): Promise<readonly Summary[]> => {
    const { fingerprint } = definitions
    if (summaries?.fingerprint !== fingerprint) {
      const all = definitions.all('ConceptMap').then((found) => {
        const byUrl = new Map<string, Summary>()
        for (const one of found) {
          const summary = summaryOf(one)
          if (summary !== undefined) byUrl.set(one.url ?? one.id, summary)
        }
        return [...byUrl.values()]
      })
      all.catch(() => {
        summaries = undefined
      })
      summaries = { fingerprint, all }
    }
    return summaries.all
  }

  const escaped = (value: string): string => value.replace(/[\\,$|]/g, '\\$&')
  const session = () => resources().as({ kind: 'internal', purpose: 'terminology' })
  const ofHeld = (held: CurrentResource): Promise<ConceptMap> =>
    made(`stored ${held.id}/${held.version}`, () => parseConceptMap(held.json))

  /** Stored maps, the preferred one first. */
  const search = async (most: number, query: Readonly<Record<string, string>>) => {
    const text = new URLSearchParams({ ...query, _count: String(most) }).toString()
    const page = await orNone(session().search('ConceptMap', text))
    const maps: ConceptMap[] = []
    for (const held of page?.matches ?? []) maps.push(await ofHeld(held))
    maps.sort((one, other) => compareDefinitions({ ...one }, { ...other }))
    return { maps, isWhole: page?.next === undefined }
  }

  const storedNamed = async (name: string, version: string | undefined): Promise<ConceptMap | undefined> => {
    const id = version === undefined ? literalId('ConceptMap', name) : undefined
    if (id !== undefined) {
      const held = await orNone(session().read('ConceptMap', id))
      return held && ofHeld(held)
    }
    if (name === '' || version === '') return undefined
    const { maps } = await search(MAX_VERSIONS, {
      url: escaped(name),
      ...(version !== undefined && { version: escaped(version) }),
    })
    return maps.find((one) => one.url === name && (version === undefined || one.version === version))
  }

  const storedOf = async ({ system, isReverse }: MapsWanted): Promise<readonly ConceptMap[]> => {
    const { maps, isWhole } = await search(MAX_FOUND, {
      [isReverse ? 'target-system' : 'source-system']: escaped(system),
    })
    if (!isWhole) throw TooManyMaps(MAX_FOUND, system.slice(0, 200))
    const found = maps.filter(({ status }) => status !== 'retired')
    const byUrl = new Map<string, ConceptMap>()
    for (const [at, map] of found.entries()) {
      const key = map.url ?? `#${at}`
      if (!byUrl.has(key)) byUrl.set(key, map)
    }
    return [...byUrl.values()]
  }

  return {
    async named(canonical) {
      const { url, version } = readCanonical(canonical)
      const own = await storedNamed(url, version)
      if (own !== undefined) return own
      const found = await definitions.find('ConceptMap', url, version)
      const isInstalled = found !== undefined && (version === undefined || found.version === version)
      return isInstalled ? ofPackage(found) : pulledNamed({ url, version })
    },
    async ofSystem(wanted) {
      const own = await storedOf(wanted)
      const urls = new Set(own.map(({ url }) => url))
      const others = (await packaged()).filter(({ sources, targets }) =>
        (wanted.isReverse ? targets : sources).has(wanted.system),
      )
      const found: ConceptMap[] = []
      for (const { definition } of others) found.push(await ofPackage(definition))
      return [...own, ...found.filter(({ url }) => !urls.has(url))]
    },
  }
}
