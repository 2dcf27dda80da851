/**
 * The files of a release of SNOMED CT that are read, and what is kept of their rows.
 * https://confluence.ihtsdotools.org/display/DOCRELFMT/4+Component+Release+Files+Specification
 */
import { ReleaseLine } from '../errors.ts'
import type { ReleaseFile } from './release-files.ts'
import type { Staging } from './staging.ts'
import type { TableRow } from './table-rows.ts'

/** Of two rows about the same component the newer one counts: an extension may change what the International Edition has. */
const NEWER = 'WHERE excluded.time >= time'
const FSN = '900000000000003001'
export const SYNONYM = '900000000000013009'
export const DEFINITION = '900000000000550004'
export const FULLY_SPECIFIED = FSN
export const IS_A = '116680003'
const PREFERRED = '900000000000548007'
const STATED = '900000000000010007'

export const SNOMED_TABLES: readonly string[] = [
  'CREATE TABLE concept (code TEXT PRIMARY KEY, time TEXT, active INTEGER, module TEXT, status TEXT, file INTEGER) WITHOUT ROWID',
  'CREATE TABLE description (concept TEXT, id TEXT, time TEXT, active INTEGER, language TEXT, type TEXT, term TEXT, file INTEGER, PRIMARY KEY (concept, id)) WITHOUT ROWID',
  'CREATE TABLE accepted (description TEXT, refset TEXT, time TEXT, active INTEGER, preferred INTEGER, PRIMARY KEY (description, refset)) WITHOUT ROWID',
  'CREATE TABLE relation (concept TEXT, id TEXT, time TEXT, active INTEGER, type TEXT, target TEXT, file INTEGER, PRIMARY KEY (concept, id)) WITHOUT ROWID',
  'CREATE TABLE member (concept TEXT, refset TEXT, id TEXT, time TEXT, active INTEGER, PRIMARY KEY (concept, refset, id)) WITHOUT ROWID',
  'CREATE TABLE dependency (module TEXT, needs TEXT, PRIMARY KEY (module, needs)) WITHOUT ROWID',
]

export interface SnomedTable {
  readonly pattern: RegExp
  /** All of them begin with an identifier, a time and 0 or 1. */
  readonly columns: readonly string[]
  /** Columns that hold identifiers of SNOMED CT. */
  readonly identifiers: readonly string[]
  readonly sql: string
  /** Of a table whose rows have identifiers of their own: finds the row with the same key, which is bound first. */
  readonly known?: string
  /** What is bound to the statement; undefined for a row that is not kept. */
  bind(values: readonly string[]): readonly (string | number)[] | undefined
}

const HEAD = ['id', 'effectiveTime', 'active', 'moduleId']
const member = ['refsetId', 'referencedComponentId']

export const SNOMED_FILES: Readonly<Record<string, SnomedTable>> = {
  concepts: {
    pattern: /^x?sct2_Concept_\w*Snapshot[-_]/i,
    columns: [...HEAD, 'definitionStatusId'],
    identifiers: ['id', 'moduleId', 'definitionStatusId'],
    sql: `INSERT INTO concept VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET time = excluded.time, active = excluded.active, module = excluded.module, status = excluded.status, file = excluded.file ${NEWER}`,
    known: 'SELECT * FROM concept WHERE code = ?',
    bind: ([id = '', time = '', active, module = '', status = '']) => [id, time, Number(active), module, status],
  },
  descriptions: {
    pattern: /^x?sct2_(?:Description|TextDefinition)_\w*Snapshot[-_]/i,
    columns: [...HEAD, 'conceptId', 'languageCode', 'typeId', 'term'],
    identifiers: ['id', 'conceptId', 'typeId'],
    sql: `INSERT INTO description VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET time = excluded.time, active = excluded.active, language = excluded.language, type = excluded.type, term = excluded.term, file = excluded.file ${NEWER}`,
    known: 'SELECT * FROM description WHERE concept = ? AND id = ?',
    bind: ([id = '', time = '', active, , concept = '', language = '', type = '', term = '']) => [
      concept,
      id,
      time,
      Number(active),
      language,
      type,
      term,
    ],
  },
  languages: {
    pattern: /^x?der2_cRefset_\w*Language\w*Snapshot[-_]/i,
    columns: [...HEAD, ...member, 'acceptabilityId'],
    identifiers: [...member, 'acceptabilityId'],
    sql: `INSERT INTO accepted VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET time = excluded.time, active = excluded.active, preferred = excluded.preferred ${NEWER}`,
    bind: ([, time = '', active, , refset = '', description = '', kind]) => [
      description,
      refset,
      time,
      Number(active),
      kind === PREFERRED ? 1 : 0,
    ],
  },
  relations: {
    pattern: /^x?sct2_Relationship_\w*Snapshot[-_]/i,
    columns: [...HEAD, 'sourceId', 'destinationId', 'typeId', 'characteristicTypeId'],
    identifiers: ['id', 'sourceId', 'destinationId', 'typeId'],
    sql: `INSERT INTO relation VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET time = excluded.time, active = excluded.active, type = excluded.type, target = excluded.target, file = excluded.file ${NEWER}`,
    known: 'SELECT * FROM relation WHERE concept = ? AND id = ?',
    bind: ([id = '', time = '', active, , source = '', target = '', type = '', characteristic]) =>
      characteristic === STATED ? undefined : [source, id, time, Number(active), type, target],
  },
  members: {
    pattern: /^x?der2_Refset_\w*Snapshot[-_]/i,
    columns: [...HEAD, ...member],
    identifiers: member,
    sql: `INSERT INTO member VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET time = excluded.time, active = excluded.active ${NEWER}`,
    bind: ([id = '', time = '', active, , refset = '', concept = '']) => [concept, refset, id, time, Number(active)],
  },
  dependencies: {
    pattern: /^x?der2_ssRefset_\w*ModuleDependency\w*Snapshot[-_]/i,
    columns: [...HEAD, ...member],
    identifiers: ['moduleId', ...member],
    sql: 'INSERT OR IGNORE INTO dependency VALUES (?, ?)',
    bind: ([, , active, module = '', , needs = '']) => (active === '1' ? [module, needs] : undefined),
  },
}

/** Throws `ReleaseLine` for a row that is none of the table. */
export const checkSnomedRow = (file: ReleaseFile, table: SnomedTable, { values, line }: TableRow): void => {
  const wrong = (column: string, value: string | undefined): Error =>
    ReleaseLine(file.label, line, `${column} cannot be "${value?.slice(0, 60)}"`)
  const [, time, active] = values
  if (!/^\d{8}$/.test(time ?? '')) throw wrong('effectiveTime', time)
  if (active !== '0' && active !== '1') throw wrong('active', active)
  for (const column of table.identifiers) {
    const value = values[table.columns.indexOf(column)]
    if (!/^[1-9]\d{5,17}$/.test(value ?? '')) throw wrong(column, value)
  }
}

export interface SnomedPutOptions {
  /** No other release may change what is inactive here. */
  readonly isAlone: boolean
  /** Number of the file in the release. */
  readonly number: number
}

/** A statement for each table, and how its rows are put into it. */
export const createSnomedPut = (
  staging: Staging,
  file: ReleaseFile,
  table: SnomedTable,
  { isAlone, number }: SnomedPutOptions,
) => {
  const statement = staging.prepare(table.sql)
  const added = staging.prepare(table.sql.replace(/ON CONFLICT.*$/s, 'ON CONFLICT DO NOTHING'))
  const known = table.known === undefined ? undefined : staging.prepare(table.known)
  const keys = table.known?.match(/\?/g)?.length ?? 0
  const isOfConcepts = table === SNOMED_FILES.concepts
  return ({ values, line }: TableRow): void => {
    checkSnomedRow(file, table, { values, line })
    if (isAlone && !isOfConcepts && values[2] === '0') return
    const bound = table.bind(values)
    if (bound === undefined) return
    if (known === undefined) return void statement.run(...bound)
    const row = [...bound, number]
    if (added.run(...row).changes === 1) return
    const old = Object.values(known.get(...row.slice(0, keys)) as Record<string, string | number>)
    // Of two files the newer row counts; a snapshot has one row for each identifier.
    if (old.at(-1) !== number) statement.run(...row)
    else if (old.some((value, at) => value !== row[at]))
      throw ReleaseLine(file.label, line, `the id ${values[0]} is there twice, with different contents`)
  }
}
