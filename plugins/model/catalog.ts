/**
 * What the installed packages make of this server: resource types, their summaries, their links, their search parameters. Compiled
 * once per set of packages and kept in the database, because reading all definitions takes longer than a start should.
 */
import type { Logger } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import type { Definition, Definitions } from '../packages/service.ts'
import { caselessSystems } from '../search/definition/caseless-systems.ts'
import { compileModel } from '../search/definition/compile-definitions.ts'
import type {
  CompartmentDefinitionResource,
  SearchParameterResource,
  StoredModel,
} from '../search/definition/stored-definitions.ts'
import { type Unindexed, unindexed } from '../search/definition/unindexed.ts'
import { clearCatalog, insertCatalog, readCatalog } from '../storage/tables.ts'
import { compileLinks, type LinkElement, type StoredLinks } from './references/compile-reference-paths.ts'
import { openShapes, type Shapes, type StoredShapes, storeShapes } from './snapshot/members.ts'

export interface ResourceType {
  readonly name: string
  /** Canonical of the StructureDefinition. */
  readonly profile: string
  /** All elements, by name. */
  readonly elements: readonly string[]
  /** Canonicals of the installed profiles on it. */
  readonly profiles: readonly string[]
  /** Its definition is normative in this release, not for trial use. */
  readonly isNormative: boolean
  /** Elements of `_summary=true`, by name. */
  readonly summary: readonly string[]
  /** Elements that must be there, whatever is asked for. */
  readonly mandatory: readonly string[]
  /** Elements of choice type, without [x]: `value` for valueQuantity and its siblings. */
  readonly choices: readonly string[]
}

export interface Catalog {
  readonly fhirVersion: string
  readonly types: ReadonlyMap<string, ResourceType>
  readonly search: StoredModel
  readonly links: StoredLinks
  /** Code systems whose codes are compared without case. */
  readonly caseless: readonly string[]
  /** Members of every type: what a posted SearchParameter is compiled with. Read when first asked for. */
  shapes(): Promise<Shapes>
}

interface StoredCatalog {
  readonly layout: number
  readonly fhirVersion: string
  readonly types: readonly ResourceType[]
  readonly search: StoredModel
  readonly links: StoredLinks
  readonly caseless: readonly string[]
}

// Counts up when the compiled form changes, so that one made by an older build is not read.
const LAYOUT = 8

interface ElementDefinition extends LinkElement {
  readonly min: number
  readonly isSummary?: boolean
}

interface StructureDefinition {
  readonly url: string
  readonly type: string
  readonly kind: string
  readonly abstract: boolean
  readonly derivation?: string
  readonly fhirVersion?: string
  readonly extension?: readonly { readonly url: string; readonly valueCode?: string }[]
  readonly snapshot?: { readonly element: readonly ElementDefinition[] }
}

const STANDARDS_STATUS = 'http://hl7.org/fhir/StructureDefinition/structuredefinition-standards-status'

const toType = (
  { type, url, snapshot, extension = [] }: StructureDefinition,
  profiles: readonly string[],
): ResourceType => {
  const top = (snapshot?.element ?? []).filter(({ path }) => path.split('.').length === 2)
  const nameOf = ({ path }: ElementDefinition): string => path.slice(type.length + 1).replace(/\[x\]$/, '')
  return {
    name: type,
    profile: url,
    elements: top.map(nameOf),
    profiles,
    isNormative: extension.some((one) => one.url === STANDARDS_STATUS && one.valueCode === 'normative'),
    summary: top.filter(({ isSummary }) => isSummary === true).map(nameOf),
    mandatory: top.filter(({ min }) => min > 0).map(nameOf),
    choices: top.filter(({ path }) => path.endsWith('[x]')).map(nameOf),
  }
}

const isConcrete = ({ kind, abstract, derivation }: StructureDefinition): boolean =>
  kind === 'resource' && !abstract && derivation !== 'constraint'

const isProfile = ({ kind, derivation }: StructureDefinition): boolean =>
  kind === 'resource' && derivation === 'constraint'

const parse = <T>({ json }: Definition): T => JSON.parse(json) as T

interface Compiled {
  readonly stored: StoredCatalog
  readonly shapes: StoredShapes
  readonly unindexed: readonly Unindexed[]
}

const compile = async (definitions: Definitions): Promise<Compiled> => {
  const all = (await definitions.all('StructureDefinition')).map(parse<StructureDefinition>)
  const structures = all.filter(isConcrete)
  const profiles = Map.groupBy(all.filter(isProfile), ({ type }) => type)
  const profilesOf = (type: string): readonly string[] => [...new Set(profiles.get(type)?.map(({ url }) => url))].sort()
  const types = [...new Map(structures.map((one) => [one.type, toType(one, profilesOf(one.type))])).values()].sort(
    (a, b) => (a.name < b.name ? -1 : 1),
  )
  const parameters = (await definitions.all('SearchParameter')).map(parse<SearchParameterResource>)
  const names = types.map(({ name }) => name)
  const search = compileModel({
    structures: all,
    types: names,
    parameters,
    compartments: (await definitions.all('CompartmentDefinition')).map(parse<CompartmentDefinitionResource>),
  })
  const stored: StoredCatalog = {
    layout: LAYOUT,
    fhirVersion: structures.find(({ type }) => type === 'Patient')?.fhirVersion ?? '4.0.1',
    types,
    search,
    links: compileLinks(all),
    caseless: caselessSystems(await definitions.all('CodeSystem')),
  }
  return { stored, shapes: storeShapes(all), unindexed: unindexed(parameters, search, names) }
}

/** Kept beside the catalog and not in it: a start that compiles nothing need not read it. */
const shapesKey = (fingerprint: string): string => `${fingerprint}#shapes`

/**
 * The catalog of the installed packages, from the database or, after an installation, compiled and stored. What cannot
 * be indexed is told in the log then, once.
 */
export const loadCatalog = async (database: Database, definitions: Definitions, log: Logger): Promise<Catalog> => {
  const { fingerprint } = definitions
  const held = await database.get<{ body: string }>(readCatalog, [fingerprint])
  let stored = held === undefined ? undefined : (JSON.parse(held.body) as StoredCatalog)
  if (stored?.layout !== LAYOUT) {
    const fresh = await compile(definitions)
    const body = JSON.stringify(fresh.stored)
    const shapes = JSON.stringify(fresh.shapes)
    await database.transact(async (transaction) => {
      await transaction.run(clearCatalog, [])
      await transaction.run(insertCatalog, [fingerprint, body])
      await transaction.run(insertCatalog, [shapesKey(fingerprint), shapes])
    })
    stored = fresh.stored
    for (const { url, reason } of fresh.unindexed)
      log.warn({ parameter: url, reason }, 'a search parameter of a package cannot be indexed')
  }
  const readShapes = async (): Promise<Shapes> => {
    const row = await database.get<{ body: string }>(readCatalog, [shapesKey(fingerprint)])
    return openShapes(JSON.parse(row?.body ?? '{}') as StoredShapes)
  }
  let shapes: Promise<Shapes> | undefined
  return {
    fhirVersion: stored.fhirVersion,
    types: new Map(stored.types.map((type) => [type.name, type])),
    search: stored.search,
    links: stored.links,
    caseless: stored.caseless,
    shapes() {
      shapes ??= readShapes().catch((error) => {
        shapes = undefined
        throw error
      })
      return shapes
    },
  }
}
