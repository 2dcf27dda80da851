/**
 * Reads a release of SNOMED CT, or an edition of several packages. What becomes of it is in
 * https://hl7.org/fhir/R4/snomedct.html: properties, designations, the version as a URI.
 */
import { ReleaseFile as ReleaseFileError } from '../errors.ts'
import { checkSnomedWhole } from './check-snomed-whole.ts'
import { createTableReader } from './read-tables.ts'
import { BATCH, type ReadOptions, type Release } from './release.ts'
import type { ReleaseFile } from './release-files.ts'
import { createSnomedConcepts, SNOMED } from './snomed-concepts.ts'
import { createSnomedPut, SNOMED_FILES, SNOMED_TABLES, type SnomedTable } from './snomed-tables.ts'
import { openStaging, type Staging } from './staging.ts'
import { readTabRows } from './tab-rows.ts'

const INTERNATIONAL = '900000000000207008'
const CORE = '900000000000012004'

export const isSnomed = ({ name }: ReleaseFile): boolean => /^x?(?:sct2|der2)_.*\.txt$/i.test(name)

const filesOf = (files: readonly ReleaseFile[], { pattern }: SnomedTable): readonly ReleaseFile[] =>
  files.filter(({ name }) => pattern.test(name) && /\.txt$/i.test(name))

/** The module that needs others and that no other one needs is the one of the edition. */
const moduleOf = (staging: Staging): string => {
  const top = staging
    .prepare(
      'SELECT DISTINCT module FROM dependency WHERE module NOT IN (SELECT needs FROM dependency WHERE needs <> module)',
    )
    .all() as readonly { readonly module: string }[]
  const [first, ...others] = top.filter(({ module }) => module !== INTERNATIONAL && module !== CORE)
  return first !== undefined && others.length === 0 ? first.module : INTERNATIONAL
}

/** The date in the names of the files, which is that of the release: the newest one of several packages. */
const dateOf = (files: readonly ReleaseFile[], staging: Staging): string => {
  const dates = files.flatMap(({ name }) => /_(\d{8})\.txt$/i.exec(name)?.[1] ?? [])
  const { newest } = staging.prepare('SELECT max(time) AS newest FROM concept').get() as { newest: string }
  return dates.sort().at(-1) ?? newest
}

const count = (staging: Staging, sql: string): number => (staging.prepare(sql).get() as { n: number }).n

const notesOf = (staging: Staging): readonly string[] => {
  const ORPHANS = 'WHERE active = 1 AND concept NOT IN (SELECT code FROM concept)'
  const left = (what: string, table: string): readonly string[] => {
    const n = count(staging, `SELECT count(*) AS n FROM ${table} ${ORPHANS}`)
    return n === 0 ? [] : [`${n} ${what} of concepts that are in none of the files were left out`]
  }
  return [...left('descriptions', 'description'), ...left('relationships', 'relation')]
}

/** Throws `ReleaseLine` and `ReleaseFile` of `errors.ts`. */
export const readSnomed = async (files: readonly ReleaseFile[], options: ReadOptions): Promise<Release> => {
  const found = new Map(Object.values(SNOMED_FILES).map((table) => [table, filesOf(files, table)]))
  const of = (name: string): readonly ReleaseFile[] => found.get(SNOMED_FILES[name] as SnomedTable) ?? []
  for (const [name, what] of Object.entries({
    concepts: 'Concept',
    descriptions: 'Description',
    relations: 'Relationship',
  }))
    if (of(name).length === 0)
      throw ReleaseFileError(
        (files[0] as ReleaseFile).label,
        `among its files there is no ${what} of the kind Snapshot; give the folder Snapshot of the release, or the whole release`,
      )
  const staging = await openStaging(SNOMED_TABLES)
  try {
    const reader = createTableReader(readTabRows, staging, options.progress)
    const isAlone = of('concepts').length === 1
    for (const [table, some] of found)
      for (const [number, file] of some.entries())
        await reader.read(file, { required: table.columns }, createSnomedPut(staging, file, table, { isAlone, number }))
    checkSnomedWhole(staging, of('concepts')[0] as ReleaseFile)
    const size = count(staging, 'SELECT count(*) AS n FROM concept')
    const edition = `${SNOMED}/${moduleOf(staging)}`
    const { version = `${edition}/version/${dateOf(of('concepts'), staging)}`, language } = options
    const date = version.replace(/^.*\/version\//s, '')
    const concepts = createSnomedConcepts(staging, language)
    return {
      header: {
        url: SNOMED,
        version,
        name: 'SNOMED_CT',
        status: 'active',
        changed: /^\d{8}$/.test(date) ? date.replace(/^(\d{4})(\d\d)/, '$1-$2-') : undefined,
        supplements: undefined,
        valueSet: `${SNOMED}?fhir_vs`,
        language,
        content: 'complete',
        hierarchy: 'is-a',
        isCaseSensitive: true,
      },
      // Editions of several modules may be there at once.
      name: version.replace(/\/version\/.*$/s, ''),
      edition: `${reader.digest()} ${language}`,
      size,
      notes: notesOf(staging),
      async *concepts(from) {
        for (let at = from * BATCH; at < size; at += BATCH) yield concepts(at)
      },
      close: staging.close,
    }
  } catch (error) {
    staging.close()
    throw error
  }
}
