/** Reads a release of LOINC. What becomes of it is in https://hl7.org/fhir/R4/loinc.html. */
import type { Designation, PropertyValue } from '../code-system.ts'
import { ReleaseFile as ReleaseFileError } from '../errors.ts'
import type { LoadedConcept } from '../indexed/loaded-concept.ts'
import { readCommaRows } from './comma-rows.ts'
import { createPutRow, filesOf, isTerms, LOINC_FILES } from './loinc-files.ts'
import { createLoincPut, LOINC, LOINC_TABLES, type MoreKind, type StagedConcept } from './loinc-tables.ts'
import { createLoincTerms } from './loinc-terms.ts'
import { createTableReader } from './read-tables.ts'
import { BATCH, type ReadOptions, type Release } from './release.ts'
import type { ReleaseFile } from './release-files.ts'
import { openStaging, type Staging } from './staging.ts'

/** States in which a code is not to be used any more. */
const INACTIVE: ReadonlySet<string> = new Set(['DEPRECATED', 'INACTIVE'])
/** Properties whose values are codes, by what they are made of. */
const CODES: readonly (readonly [MoreKind, string])[] = [
  ['list', 'answer-list'],
  ['for', 'answers-for'],
  ['in', 'LIST'],
]

interface MoreRow {
  readonly code: string
  readonly kind: MoreKind
  readonly key: string
  readonly body: string
}

export const isLoinc = (files: readonly ReleaseFile[]): boolean => files.some(isTerms)

const toConcept = (code: string, staged: StagedConcept, more: readonly MoreRow[]): LoadedConcept => {
  const { display, definition, status, names = [], texts = [] } = staged
  const of = (kind: MoreKind): readonly MoreRow[] => more.filter((one) => one.kind === kind)
  const keysOf = (kind: MoreKind): readonly string[] => of(kind).map(({ key }) => key)
  const parts = new Map(of('part').map(({ key, body }) => [key, JSON.parse(body) as [string, string]]))
  const values = texts.map(([name, text]): PropertyValue => {
    const [part, shown] = parts.get(name) ?? []
    return {
      code: name,
      value:
        part === undefined ? { valueString: text } : { valueCoding: { system: LOINC, code: part, display: shown } },
    }
  })
  const named = names.map(
    ([column, value]): Designation => ({ language: 'en', use: { system: LOINC, code: column }, value }),
  )
  const translated = of('text').map(({ body }): Designation => {
    const [language, column, value] = JSON.parse(body) as [string, string, string]
    return { language, use: { system: LOINC, code: column }, value }
  })
  return {
    code,
    display,
    definition,
    designations: [...named, ...translated],
    properties: [
      ...(status ? [{ code: 'STATUS', value: { valueString: status } }] : []),
      ...values,
      ...CODES.flatMap(([kind, property]) =>
        keysOf(kind).map((key) => ({ code: property, value: { valueCode: key } })),
      ),
    ],
    // Value sets name parts by their code, and by their text.
    filterTexts: texts.flatMap(([name, text]) => (parts.has(name) ? [[name, text] as const] : [])),
    parents: keysOf('parent'),
    isInactive: INACTIVE.has(status ?? ''),
  }
}

const createConcepts = (staging: Staging) => {
  const some = staging.prepare('SELECT * FROM concept ORDER BY code LIMIT ? OFFSET ?')
  const more = staging.prepare('SELECT * FROM more WHERE code >= ? AND code <= ? ORDER BY code, kind, key')
  return (place: number): readonly LoadedConcept[] => {
    const rows = some.all(BATCH, place) as readonly { readonly code: string; readonly body: string }[]
    const [first = '', last = ''] = [rows[0]?.code, rows.at(-1)?.code]
    const byCode = Map.groupBy(more.all(first, last) as readonly MoreRow[], ({ code }) => code)
    return rows.map(({ code, body }) => toConcept(code, JSON.parse(body) as StagedConcept, byCode.get(code) ?? []))
  }
}

/** A release changes terms, so the newest version of a change is its own. */
const newest = (versions: ReadonlySet<string>): string | undefined => {
  const partsOf = (version: string): readonly number[] => version.split('.').map(Number)
  const compare = (one: string, other: string): number => {
    const [a, b] = [partsOf(one), partsOf(other)]
    return (a[0] ?? 0) - (b[0] ?? 0) || (a[1] ?? 0) - (b[1] ?? 0)
  }
  return [...versions]
    .filter((one) => /^\d+\.\d+$/.test(one))
    .sort(compare)
    .at(-1)
}

const versionsIn = (staging: Staging): ReadonlySet<string> => {
  const rows = staging
    .prepare(
      "SELECT DISTINCT t.value ->> 1 AS version FROM concept c, json_each(c.body, '$.texts') t WHERE t.value ->> 0 LIKE 'Version%'",
    )
    .all() as readonly { readonly version: string }[]
  return new Set(rows.map(({ version }) => version))
}

/** Throws `ReleaseLine` and `ReleaseFile` of `errors.ts`. */
export const readLoinc = async (files: readonly ReleaseFile[], options: ReadOptions): Promise<Release> => {
  const staging = await openStaging(LOINC_TABLES)
  try {
    const reader = createTableReader(readCommaRows, staging, options.progress)
    const terms = createLoincTerms()
    const into = { ...createLoincPut(staging), terms }
    for (const table of LOINC_FILES)
      for (const file of filesOf(table, files)) {
        const put = createPutRow(into, file, table)
        let rows = 0
        await reader.read(file, table.columns, (row) => {
          rows += 1
          put(row)
        })
        // Parts and answers alone would replace a release by one without terms.
        if (isTerms(file) && rows === 0) throw ReleaseFileError(file.label, 'there are no terms in it')
      }
    const notes = terms.notes()
    const { n: size } = staging.prepare('SELECT count(*) AS n FROM concept').get() as { n: number }
    const concepts = createConcepts(staging)
    return {
      header: {
        url: LOINC,
        version: options.version ?? newest(versionsIn(staging)),
        name: 'LOINC',
        status: 'active',
        changed: undefined,
        supplements: undefined,
        valueSet: `${LOINC}/vs`,
        language: 'en',
        content: 'complete',
        hierarchy: 'is-a',
        isCaseSensitive: false,
      },
      name: LOINC,
      edition: reader.digest(),
      size,
      notes,
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
