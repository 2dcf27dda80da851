/** The Definitions service, read directly from hl7.fhir.r4.examples, without an installation or a database. */
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type AnyPlugin, definePlugin } from '../../kernel/index.ts'
import { Database } from '../../plugins/database/service.ts'
import { type Definition, DefinitionNames, Definitions } from '../../plugins/packages/service.ts'
import { keepCompiledCatalog, putCompiledCatalog, withCatalogKey } from './compiled-catalogs.ts'
import { readRunFile, writeRunFile } from './run-file.ts'

export const examplesFolder = dirname(createRequire(import.meta.url).resolve('hl7.fhir.r4.examples/package.json'))

/** What a definition is found by. */
interface Named {
  readonly id: string
  readonly url: string
  readonly version?: string
}

/** The processes of one run share the names of definitions here: reading and parsing all 4,400 takes 0.4 s of CPU time. */
const NAMES = 'definition-names.json'
/** When the package was installed, to those who ask. */
const INSTALLED = Date.UTC(2026, 0, 1)
let files: readonly string[] | undefined
let names: Map<string, Named> | undefined
// A process starts hundreds of servers, and reading took a third of each start. Definitions do not change.
const definitions = new Map<string, Definition>()

const readText = (name: string): string => readFileSync(join(examplesFolder, name), 'utf8')
const readNames = (): Record<string, Named> => JSON.parse(readRunFile(NAMES) ?? '{}')
const knownNames = (): Map<string, Named> => {
  names ??= new Map(Object.entries(readNames()))
  return names
}
const keepNames = (): void => writeRunFile(NAMES, JSON.stringify(Object.fromEntries(knownNames())))

const readNamed = (name: string): Named => {
  const { id, url, version } = JSON.parse(readText(name)) as Named
  const named = { id, url, ...(version === undefined ? {} : { version }) }
  knownNames().set(name, named)
  return named
}

const toDefinition = (type: string, name: string): Definition => {
  let text: string | undefined
  return Object.freeze({
    package: 'hl7.fhir.r4.examples',
    type,
    ...(knownNames().get(name) ?? readNamed(name)),
    /** Read when it is asked for: where a catalog is compiled already, few are. */
    get json() {
      text ??= readText(name)
      return text
    },
  })
}

const readAll = (type: string, accept: (name: string) => boolean): Definition[] => {
  files ??= readdirSync(examplesFolder)
  const before = knownNames().size
  const all = files
    .filter((name) => name.startsWith(`${type}-`) && name.endsWith('.json') && accept(name))
    .map((name) => {
      const known = definitions.get(name) ?? toDefinition(type, name)
      definitions.set(name, known)
      return known
    })
  if (knownNames().size > before) keepNames()
  return all
}

const DEFINED =
  'CapabilityStatement CodeSystem CompartmentDefinition ConceptMap ImplementationGuide NamingSystem OperationDefinition Questionnaire SearchParameter StructureDefinition ValueSet'.split(
    ' ',
  )

/** `types`, `names` and `texts` by what `all` gives. */
export const namesOf = ({ all, fingerprint }: Pick<Definitions, 'all' | 'fingerprint'>): DefinitionNames => ({
  fingerprint,
  async types() {
    const found: string[] = []
    for (const type of DEFINED) if ((await all(type)).length > 0) found.push(type)
    return found
  },
  names: async (type) =>
    (await all(type)).map(({ package: pack, id, url, version }) => ({
      ...{ package: pack, id, installedAt: INSTALLED },
      ...(url === undefined ? {} : { url }),
      ...(version === undefined ? {} : { version }),
    })),
  async texts(type, names) {
    const keyOf = (one: { readonly package: string; readonly id: string }): string => `${one.package} ${one.id}`
    // The first of those with the same name counts.
    const found = new Map((await all(type)).toReversed().map((one) => [keyOf(one), one]))
    return names.map((name) => found.get(keyOf(name))?.json)
  },
})

/** The resource types unless all are requested: parsing 655 StructureDefinitions takes long. */
const USUAL = [
  'Patient',
  'Observation',
  'Practitioner',
  'Organization',
  'Encounter',
  'Binary',
  'Bundle',
  'Basic',
  'AuditEvent',
]

/**
 * `others` selects other definitions by file name: with all types all of them are included, otherwise none by default.
 */
export const stubDefinitions = (types: readonly string[] | 'all' = USUAL, others?: RegExp): AnyPlugin => {
  const key = JSON.stringify([types, others?.source])
  const plugin = definePlugin({
    name: 'stub-definitions',
    provides: [Definitions, DefinitionNames],
    uses: [Database],
    setup({ provide, optional, plugins }) {
      const wanted = (name: string): boolean =>
        types === 'all' || types.some((type) => name === `StructureDefinition-${type}.json`)
      const chosen = (name: string): boolean => types === 'all' || others?.test(name) === true
      // Cached, because plugins request one definition after the other.
      const read = new Map<string, readonly Definition[]>()
      const all = async (type: string): Promise<readonly Definition[]> => {
        const known = read.get(type) ?? readAll(type, type === 'StructureDefinition' ? wanted : chosen)
        read.set(type, known)
        return known
      }
      const fingerprint = `stub-${types === 'all' ? 'all' : types.join('-').slice(0, 80)}${others?.source.length ?? ''}`
      provide(DefinitionNames, namesOf({ all, fingerprint }))
      provide(Definitions, {
        packages: [{ name: 'hl7.fhir.r4.examples', version: '4.0.1' }],
        fingerprint,
        all,
        find: async (type, url) => (await all(type)).find((one) => one.url === url),
        refresh: async () => false,
      })
      const database = optional(Database)
      if (database === undefined || !plugins.some(({ name }) => name === 'storage')) return undefined
      return {
        start: () => putCompiledCatalog(database, key),
        stop: () => keepCompiledCatalog(database, key, fingerprint),
      }
    },
  })
  return withCatalogKey(plugin, key)
}
