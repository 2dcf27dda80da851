/**
 * What the installed packages make of this server: resource types, their summaries, their links, and what others make of
 * the definitions. Compiled once per set of packages and kept in the database, because reading all definitions takes longer
 * than a start should. Of several servers one compiles; the others wait, and read what it has stored.
 */
import type { AloneOptions, Database } from '../database/service.ts'
import type { Definition, Definitions } from '../packages/service.ts'
import { compileReferencePaths, type ReferencePaths } from './references/compile-reference-paths.ts'
import { type Members, openMembers, type StoredMembers, storeMembers } from './snapshot/members.ts'
import { type ElementNode, readSnapshot } from './snapshot/read-snapshot.ts'
import type { StructureDefinition } from './snapshot/structure-definition.ts'
import { clearCatalog, insertCatalog, readCatalog, removeCatalog } from './tables.ts'

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

export interface TypeCatalog {
  readonly fhirVersion: string
  readonly types: ReadonlyMap<string, ResourceType>
  readonly links: ReferencePaths
  /**
   * What `make` makes of all StructureDefinitions. It is kept in the database as JSON, under the name of the part, until
   * the installed packages or `layout` change.
   */
  compiled<T>(
    part: string,
    layout: number,
    make: (structures: readonly StructureDefinition[]) => Promise<T>,
  ): Promise<T>
  /** Members of every type: what a posted SearchParameter is compiled with. Read when first asked for. */
  members(): Promise<Members>
}

interface StoredCatalog {
  readonly layout: number
  readonly fhirVersion: string
  readonly types: readonly ResourceType[]
  readonly links: ReferencePaths
}

interface StoredPart<T> {
  readonly layout: number
  readonly value: T
}

// Counts up when the compiled form changes, so that one made by an older build is not read.
const LAYOUT = 9

const STANDARDS_STATUS = 'http://hl7.org/fhir/StructureDefinition/structuredefinition-standards-status'

const toType = (
  { type, url, snapshot, extension = [] }: StructureDefinition,
  profiles: readonly string[],
): ResourceType => {
  const top = readSnapshot(type, snapshot?.element ?? []).children
  const namesOf = (isMeant: (one: ElementNode) => boolean = () => true): readonly string[] =>
    top.filter(isMeant).map(({ name }) => name)
  return {
    name: type,
    profile: url,
    elements: namesOf(),
    profiles,
    isNormative: extension.some((one) => one.url === STANDARDS_STATUS && one.valueCode === 'normative'),
    summary: namesOf(({ definitions: [one] }) => one?.isSummary === true),
    mandatory: namesOf(({ definitions: [one] }) => (one?.min ?? 0) > 0),
    choices: namesOf(({ isChoice }) => isChoice),
  }
}

const isConcrete = ({ kind, abstract, derivation }: StructureDefinition): boolean =>
  kind === 'resource' && !abstract && derivation !== 'constraint'

const isProfile = ({ kind, derivation }: StructureDefinition): boolean =>
  kind === 'resource' && derivation === 'constraint'

const parse = <T>({ json }: Definition): T => JSON.parse(json) as T

const readStructures = async (definitions: Definitions): Promise<readonly StructureDefinition[]> =>
  (await definitions.all('StructureDefinition')).map(parse<StructureDefinition>)

interface CompiledCatalog {
  readonly stored: StoredCatalog
  readonly shapes: StoredMembers
}

const compile = (all: readonly StructureDefinition[]): CompiledCatalog => {
  const structures = all.filter(isConcrete)
  const profiles = Map.groupBy(all.filter(isProfile), ({ type }) => type)
  const profilesOf = (type: string): readonly string[] => [...new Set(profiles.get(type)?.map(({ url }) => url))].sort()
  const types = [...new Map(structures.map((one) => [one.type, toType(one, profilesOf(one.type))])).values()].sort(
    (a, b) => (a.name < b.name ? -1 : 1),
  )
  const stored: StoredCatalog = {
    layout: LAYOUT,
    fhirVersion: structures.find(({ type }) => type === 'Patient')?.fhirVersion ?? '4.0.1',
    types,
    links: compileReferencePaths(all),
  }
  return { stored, shapes: storeMembers(all) }
}

/** Kept beside the catalog and not in it: a start that compiles nothing need not read it. */
const keyOf = (fingerprint: string, part: string): string => `${fingerprint}#${part}`

/** The catalog of the installed packages, from the database or, after an installation, compiled and stored. */
export const loadTypeCatalog = async (
  database: Database,
  definitions: Definitions,
  options: Pick<AloneOptions, 'signal'> = {},
): Promise<TypeCatalog> => {
  const { fingerprint } = definitions
  const read = async <T>(key: string): Promise<T | undefined> => {
    const row = await database.get<{ body: string }>(readCatalog, [key])
    return row === undefined ? undefined : (JSON.parse(row.body) as T)
  }
  // All of them parsed take some hundred MB: they are read once for the catalog and the first part, and let go then.
  let structures: Promise<readonly StructureDefinition[]> | undefined
  let stored = await read<StoredCatalog>(fingerprint)
  if (stored?.layout !== LAYOUT)
    stored = await database.alone(
      'catalog',
      async () => {
        const other = await read<StoredCatalog>(fingerprint)
        if (other?.layout === LAYOUT) return other
        structures = readStructures(definitions)
        const fresh = compile(await structures)
        const body = JSON.stringify(fresh.stored)
        const shapes = JSON.stringify(fresh.shapes)
        await database.transact(async (transaction) => {
          await transaction.run(clearCatalog, [])
          await transaction.run(insertCatalog, [fingerprint, body])
          await transaction.run(insertCatalog, [keyOf(fingerprint, 'shapes'), shapes])
        })
        return fresh.stored
      },
      options,
    )
  const readShapes = async (): Promise<Members> =>
    openMembers((await read<StoredMembers>(keyOf(fingerprint, 'shapes'))) ?? {})
  let shapes: Promise<Members> | undefined
  return {
    fhirVersion: stored.fhirVersion,
    types: new Map(stored.types.map((type) => [type.name, type])),
    links: stored.links,
    async compiled<T>(
      part: string,
      layout: number,
      make: (all: readonly StructureDefinition[]) => Promise<T>,
    ): Promise<T> {
      const key = keyOf(fingerprint, part)
      const held = await read<StoredPart<T>>(key)
      if (held?.layout === layout) {
        structures = undefined
        return held.value
      }
      return database.alone(
        'catalog',
        async () => {
          const other = await read<StoredPart<T>>(key)
          if (other?.layout === layout) {
            structures = undefined
            return other.value
          }
          const value = await make(await (structures ?? readStructures(definitions)))
          structures = undefined
          const body = JSON.stringify({ layout, value } satisfies StoredPart<T>)
          await database.transact(async (transaction) => {
            await transaction.run(removeCatalog, [key])
            await transaction.run(insertCatalog, [key, body])
          })
          return value
        },
        options,
      )
    },
    members() {
      shapes ??= readShapes().catch((error) => {
        shapes = undefined
        throw error
      })
      return shapes
    },
  }
}
