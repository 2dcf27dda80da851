/** Finds versions of code systems in the index, and hears of those that are large and not there. */

import type { MemoryBudget } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import type { CurrentResource } from '../../fhir/service.ts'
import type { Definition } from '../../packages/service.ts'
import type { Canonical } from '../canonical.ts'
import type { SystemHeader } from '../code-system.ts'
import { compareDefinitions } from '../compare-definitions.ts'
import type { ConceptSource } from '../concept-source.ts'
import { createIndexedSource, createKeptPlaces } from './indexed-source.ts'
import { isLarge } from './is-large.ts'
import { readLoaded, readNamed, type SystemRow, type SystemSource } from './tables.ts'

export interface IndexReader {
  /** This version of a stored CodeSystem; undefined where it is not in the index, or not as a whole yet. */
  stored(held: CurrentResource): Promise<ConceptSource | undefined>
  packaged(definition: Definition): Promise<ConceptSource | undefined>
  /** The newest version that was loaded, or the one that is named. */
  loaded(canonical: Canonical): Promise<ConceptSource | undefined>
  /** The same of those that were pulled. */
  pulled(canonical: Canonical): Promise<ConceptSource | undefined>
  /** It was read in memory, and has so many concepts. */
  missedStored(held: CurrentResource, size: number): void
  missedPackaged(definition: Definition, size: number): void
}

const EDITION = /^http:\/\/snomed\.info\/sct\/\d{1,18}$/

/** The name of a definition in the index. */
export const nameOfPackaged = (definition: Definition): string =>
  JSON.stringify([definition.package, definition.url, definition.version])

export interface IndexReaderParts {
  readonly database: Database
  readonly memory: MemoryBudget
  /** The edition of definitions of packages. */
  readonly fingerprint: () => string
  readonly want: (source: SystemSource, name: string) => void
}

export const createIndexReader = ({ database, memory, fingerprint, want }: IndexReaderParts): IndexReader => {
  const kept = createKeptPlaces(memory)
  const toSource = ({ id, size, header }: SystemRow): ConceptSource =>
    createIndexedSource(database, { id, size, header: headerOf(header) }, kept)
  const find = async (source: SystemSource, name: string, edition: string): Promise<ConceptSource | undefined> => {
    const rows = await database.all<SystemRow>(readNamed, [source, name])
    const row = rows.find((one) => one.state === 'ready' && one.edition === edition)
    return row && toSource(row)
  }
  /** A version of SNOMED CT that names an edition without a date stands for the newest one of it. */
  const isNamed = (version: string, has: string): boolean =>
    has === version || (EDITION.test(version) && has.startsWith(`${version}/version/`))
  const newest = async (source: 'load' | 'pull', { url, version }: Canonical): Promise<ConceptSource | undefined> => {
    const rows = await database.all<SystemRow>(readLoaded, [url])
    const found = rows
      .filter((row) => row.source === source && (version === undefined || isNamed(version, row.version)))
      .map((row) => ({ row, version: row.version, status: headerOf(row.header).status }))
      .sort(compareDefinitions)[0]
    return found && toSource(found.row)
  }
  return {
    stored: ({ id, version }) => find('stored', id, String(version)),
    packaged: (definition) => find('package', nameOfPackaged(definition), fingerprint()),
    loaded: (canonical) => newest('load', canonical),
    pulled: (canonical) => newest('pull', canonical),
    missedStored({ id }, size) {
      if (isLarge(size)) want('stored', id)
    },
    missedPackaged(definition, size) {
      if (isLarge(size)) want('package', nameOfPackaged(definition))
    },
  }
}

/** JSON has no undefined members. */
const headerOf = (json: string): SystemHeader => {
  const header = JSON.parse(json) as SystemHeader
  const { version, name, status, changed, supplements, valueSet, language } = header
  return { ...header, version, name, status, changed, supplements, valueSet, language }
}
