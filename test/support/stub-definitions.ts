/** The Definitions service, read directly from hl7.fhir.r4.examples, without an installation or a database. */
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type AnyPlugin, definePlugin } from '../../kernel/index.ts'
import { Database } from '../../plugins/database/service.ts'
import { type Definition, Definitions } from '../../plugins/packages/service.ts'
import { keepCompiledCatalog, putCompiledCatalog } from './compiled-catalogs.ts'

export const examplesFolder = dirname(createRequire(import.meta.url).resolve('hl7.fhir.r4.examples/package.json'))

// A process starts hundreds of servers, and reading took a third of each start. Definitions do not change.
let files: readonly string[] | undefined
const definitions = new Map<string, Definition>()

const readOne = (type: string, name: string): Definition => {
  const json = readFileSync(join(examplesFolder, name), 'utf8')
  const { id, url, version } = JSON.parse(json) as { id: string; url: string; version?: string }
  return Object.freeze({
    package: 'hl7.fhir.r4.examples',
    type,
    id,
    url,
    json,
    ...(version === undefined ? {} : { version }),
  })
}

const readAll = (type: string, accept: (name: string) => boolean): Definition[] => {
  files ??= readdirSync(examplesFolder)
  return files
    .filter((name) => name.startsWith(`${type}-`) && name.endsWith('.json') && accept(name))
    .map((name) => {
      const known = definitions.get(name) ?? readOne(type, name)
      definitions.set(name, known)
      return known
    })
}

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
export const stubDefinitions = (types: readonly string[] | 'all' = USUAL, others?: RegExp): AnyPlugin =>
  definePlugin({
    name: 'stub-definitions',
    provides: [Definitions],
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
      provide(Definitions, {
        packages: [{ name: 'hl7.fhir.r4.examples', version: '4.0.1' }],
        fingerprint,
        all,
        find: async (type, url) => (await all(type)).find((one) => one.url === url),
        refresh: async () => false,
      })
      const database = optional(Database)
      if (database === undefined || !plugins.some(({ name }) => name === 'storage')) return undefined
      const key = JSON.stringify([types, others?.source])
      return {
        start: () => putCompiledCatalog(database, key),
        stop: () => keepCompiledCatalog(database, key, fingerprint),
      }
    },
  })
