/**
 * What the installed packages make of this server: resource types, their summaries, their links, their search parameters. Compiled
 * once per set of packages and kept in the database, because reading all definitions takes longer than a start should.
 */
import type { Database } from '../database/service.ts'
import type { Definition, Definitions } from '../packages/service.ts'
import { compileLinks, type LinkElement, type StoredLinks } from './links/model.ts'
import {
  type CompartmentDefinitionResource,
  compileModel,
  type SearchParameterResource,
  type StoredModel,
} from './search/model.ts'
import { openShapes, type Shapes, type StoredShapes, storeShapes } from './search/shape.ts'
import { clearCatalog, insertCatalog, readCatalog } from './store/tables.ts'

export interface ResourceType {
  readonly name: string
  /** Canonical of the StructureDefinition. */
  readonly profile: string
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
  /** Members of every type: what a posted SearchParameter is compiled with. Read when first asked for. */
  shapes(): Promise<Shapes>
}

interface StoredCatalog {
  readonly layout: number
  readonly fhirVersion: string
  readonly types: readonly ResourceType[]
  readonly search: StoredModel
  readonly links: StoredLinks
}

// Counts up when the compiled form changes, so that one made by an older build is not read.
const LAYOUT = 7

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
  readonly snapshot?: { readonly element: readonly ElementDefinition[] }
}

const toType = ({ type, url, snapshot }: StructureDefinition): ResourceType => {
  const top = (snapshot?.element ?? []).filter(({ path }) => path.split('.').length === 2)
  const nameOf = ({ path }: ElementDefinition): string => path.slice(type.length + 1).replace(/\[x\]$/, '')
  return {
    name: type,
    profile: url,
    summary: top.filter(({ isSummary }) => isSummary === true).map(nameOf),
    mandatory: top.filter(({ min }) => min > 0).map(nameOf),
    choices: top.filter(({ path }) => path.endsWith('[x]')).map(nameOf),
  }
}

const isConcrete = ({ kind, abstract, derivation }: StructureDefinition): boolean =>
  kind === 'resource' && !abstract && derivation !== 'constraint'

const parse = <T>({ json }: Definition): T => JSON.parse(json) as T

const compile = async (definitions: Definitions): Promise<{ stored: StoredCatalog; shapes: StoredShapes }> => {
  const all = (await definitions.all('StructureDefinition')).map(parse<StructureDefinition>)
  const structures = all.filter(isConcrete)
  const types = [...new Map(structures.map((one) => [one.type, toType(one)])).values()].sort((a, b) =>
    a.name < b.name ? -1 : 1,
  )
  const stored: StoredCatalog = {
    layout: LAYOUT,
    fhirVersion: structures.find(({ type }) => type === 'Patient')?.fhirVersion ?? '4.0.1',
    types,
    search: compileModel({
      structures: all,
      types: types.map(({ name }) => name),
      parameters: (await definitions.all('SearchParameter')).map(parse<SearchParameterResource>),
      compartments: (await definitions.all('CompartmentDefinition')).map(parse<CompartmentDefinitionResource>),
    }),
    links: compileLinks(all),
  }
  return { stored, shapes: storeShapes(all) }
}

/** Kept beside the catalog and not in it: a start that compiles nothing need not read it. */
const shapesKey = (fingerprint: string): string => `${fingerprint}#shapes`

/** The catalog of the installed packages, from the database or, after an installation, compiled and stored. */
export const loadCatalog = async (database: Database, definitions: Definitions): Promise<Catalog> => {
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
    shapes() {
      shapes ??= readShapes().catch((error) => {
        shapes = undefined
        throw error
      })
      return shapes
    },
  }
}
