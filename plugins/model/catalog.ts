/**
 * The catalog: resource types, their summary elements, where their references are, and the parts that other plugins compile
 * from the same definitions. It is compiled once per set of packages and stored in the database, because reading all
 * definitions takes longer than a start should. When several servers start, one compiles; the others wait for its named
 * lock and then read what it has stored.
 */
import { type AloneOptions, type Database, whenStored } from '../database/service.ts'
import type { Definition, Definitions } from '../packages/service.ts'
import { PackagesChanged } from './errors.ts'
import { compileReferencePaths, type ReferencePaths } from './references/compile-reference-paths.ts'
import { type Members, openMembers, type StoredMembers, storeMembers } from './snapshot/members.ts'
import { type ElementNode, readSnapshot } from './snapshot/read-snapshot.ts'
import type { StructureDefinition } from './snapshot/structure-definition.ts'
import { clearCatalog, insertCatalog, readCatalog, removeCatalog } from './tables.ts'

export interface ResourceType {
  readonly name: string
  /** Canonical URL of the StructureDefinition. */
  readonly profile: string
  /** Names of all elements at the top level. */
  readonly elements: readonly string[]
  /** Canonical URLs of the installed profiles on this type. */
  readonly profiles: readonly string[]
  /** True when R4 publishes the type as normative, false for trial use. */
  readonly isNormative: boolean
  /** Names of the elements that `_summary=true` returns. */
  readonly summary: readonly string[]
  /** Names of the elements with a minimum cardinality of 1: `_elements` and `_summary` always return them. */
  readonly mandatory: readonly string[]
  /** Names of the elements with a choice of types, without [x]: `value` for valueQuantity, valueString and so on. */
  readonly choices: readonly string[]
}

export interface TypeCatalog {
  readonly fhirVersion: string
  readonly types: ReadonlyMap<string, ResourceType>
  readonly links: ReferencePaths
  /**
   * The result of `make`, which is given all StructureDefinitions. The result is stored in the database as JSON under the
   * name `part`; `make` runs again only when the installed packages or `layout` have changed.
   */
  compiled<T>(
    part: string,
    layout: number,
    make: (structures: readonly StructureDefinition[]) => Promise<T>,
  ): Promise<T>
  /** JSON members of every type, with which a SearchParameter that a client posts is compiled. Read at the first call. */
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

// Incremented whenever the stored form changes: a catalog of another build is then compiled again instead of read.
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

/** Key of a part in the table. Each part has a row of its own, so that a start reads the catalog without the parts. */
const keyOf = (fingerprint: string, part: string): string => `${fingerprint}#${part}`

/** Reads the catalog of the installed packages from the database; compiles and stores it if there is none yet. */
export const loadTypeCatalog = async (
  database: Database,
  definitions: Definitions,
  options: Pick<AloneOptions, 'signal' | 'onWait'> = {},
): Promise<TypeCatalog> => {
  const { signal, onWait } = options
  const read = async <T>(key: string): Promise<T | undefined> => {
    const row = await database.get<{ body: string }>(readCatalog, [key])
    return row === undefined ? undefined : (JSON.parse(row.body) as T)
  }
  // The parsed definitions take some hundred MB. They are read once, used for the catalog and for the first part that is
  // asked for, and then released.
  let structures: Promise<readonly StructureDefinition[]> | undefined
  const readOwn = async (): Promise<StoredCatalog | undefined> => {
    const own = await read<StoredCatalog>(definitions.fingerprint)
    return own?.layout === LAYOUT ? own : undefined
  }
  const lookAgain = async (): Promise<StoredCatalog | undefined> => {
    await definitions.refresh()
    return readOwn()
  }
  let stored = database.isReader ? await whenStored(signal, lookAgain, onWait) : await readOwn()
  const { fingerprint } = definitions
  if (stored === undefined)
    stored = await database.alone(
      'catalog',
      async () => {
        const other = await readOwn()
        if (other !== undefined) return other
        structures = readStructures(definitions)
        const fresh = compile(await structures)
        const body = JSON.stringify(fresh.stored)
        const shapes = JSON.stringify(fresh.shapes)
        await database.transact(async (transaction) => {
          // Published here and not at installation, because other servers wait until the packages are compiled.
          transaction.publish({ about: 'packages' })
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
      const readPart = async (): Promise<StoredPart<T> | undefined> => {
        const held = await read<StoredPart<T>>(key)
        return held?.layout === layout ? held : undefined
      }
      const awaitPart = (): Promise<StoredPart<T>> =>
        whenStored(
          signal,
          async () => {
            await definitions.refresh()
            if (definitions.fingerprint !== fingerprint) throw PackagesChanged()
            return readPart()
          },
          onWait,
        )
      const held = database.isReader ? await awaitPart() : await readPart()
      if (held !== undefined) {
        structures = undefined
        return held.value
      }
      return database.alone(
        'catalog',
        async () => {
          const other = await readPart()
          if (other !== undefined) {
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
