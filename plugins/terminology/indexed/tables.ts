/**
 * The tables of the terminology index. Each version of a code system has a number of its own, `system`, which is never used
 * again; its concepts are numbered by `place`, from 0. Times are milliseconds since the epoch, 0 where there is none.
 */
import type { SchemaChange } from '../../../kernel/index.ts'
import { type Sql, sql } from '../../database/service.ts'

export const terminologyMigrations: readonly SchemaChange[] = [
  {
    // Not WITHOUT ROWID: without statistics SQLite would take its primary key, of which it knows the system only, for every
    // question.
    name: 'terminology/0001-index',
    sql: [
      // `source` is where it comes from, `name` its name there (an id, a URL), `edition` which of its versions. `batches` and
      // `size` count what is stored of it. `ended`: since when another one has taken its place.
      'CREATE TABLE tx_system (id integer PRIMARY KEY, source varchar(16) NOT NULL, name text NOT NULL, edition text NOT NULL, state varchar(16) NOT NULL, batches integer NOT NULL, size integer NOT NULL, ended bigint NOT NULL, url text NOT NULL, version text NOT NULL, header text NOT NULL)',
      'CREATE INDEX tx_system_name ON tx_system (source, name)',
      'CREATE INDEX tx_system_url ON tx_system (url)',
      'CREATE TABLE tx_mark (id integer PRIMARY KEY, last_system integer NOT NULL, packages text NOT NULL)',
      "INSERT INTO tx_mark (id, last_system, packages) VALUES (1, 0, '')",
      // `key` is the code, in lower case where the system is not case-sensitive; `code_text` and `text` are what filters of
      // $expand are compared with.
      'CREATE TABLE tx_concept (system integer NOT NULL, place integer NOT NULL, code text NOT NULL, key text NOT NULL, display text, code_text text NOT NULL, text text NOT NULL, inactive integer NOT NULL, abstract integer NOT NULL, PRIMARY KEY (system, place))',
      'CREATE UNIQUE INDEX tx_concept_code ON tx_concept (system, code)',
      'CREATE INDEX tx_concept_key ON tx_concept (system, key)',
      // What only the answer about a code needs: the definition, and as JSON its designations and properties.
      'CREATE TABLE tx_detail (system integer NOT NULL, place integer NOT NULL, definition text, body text NOT NULL, PRIMARY KEY (system, place))',
      // `head`: the beginning of the value, which an index entry has room for.
      'CREATE TABLE tx_property (system integer NOT NULL, place integer NOT NULL, n integer NOT NULL, name text NOT NULL, head text NOT NULL, value text NOT NULL, PRIMARY KEY (system, place, n))',
      'CREATE INDEX tx_property_value ON tx_property (system, name, head)',
      'CREATE TABLE tx_designation (system integer NOT NULL, place integer NOT NULL, n integer NOT NULL, language text NOT NULL, text text NOT NULL, PRIMARY KEY (system, place, n))',
      // Parents as their codes, until all concepts are there; then as edges. Both indexes of edges have all that a step needs:
      // SQLite prefers such an index to one that fits better.
      'CREATE TABLE tx_parent (system integer NOT NULL, child integer NOT NULL, n integer NOT NULL, code text NOT NULL, PRIMARY KEY (system, child, n))',
      'CREATE TABLE tx_edge (system integer NOT NULL, child integer NOT NULL, n integer NOT NULL, parent integer NOT NULL, PRIMARY KEY (system, child, n, parent))',
      'CREATE INDEX tx_edge_parent ON tx_edge (system, parent, child)',
    ],
  },
]

/** Characters of a property's value that its index has. */
export const HEAD = 200

/** `stored`: a resource of this server; `package`: a definition of a package; the others were put in by `load`. */
export type SystemSource = 'stored' | 'package' | 'pull' | 'load'
/** `ended`: its rows are removed after a while. */
export type SystemState = 'building' | 'ready' | 'ended'

export interface SystemRow {
  readonly id: number
  readonly source: SystemSource
  readonly name: string
  readonly edition: string
  readonly state: SystemState
  readonly batches: number
  readonly size: number
  readonly url: string
  readonly version: string
  /** JSON of the header. */
  readonly header: string
}
const SYSTEM = 'id, source, name, edition, state, batches, size, url, version, header'

export const takeNumber = sql(
  'terminology.number',
  'UPDATE tx_mark SET last_system = last_system + 1 WHERE id = 1 RETURNING last_system AS id',
)
export const readIndexedPackages = sql('terminology.packages', 'SELECT packages FROM tx_mark WHERE id = 1')
export const setIndexedPackages = sql('terminology.set-packages', 'UPDATE tx_mark SET packages = ? WHERE id = 1')
export const insertSystem = sql(
  'terminology.insert-system',
  `INSERT INTO tx_system (${SYSTEM}, ended) VALUES (?, ?, ?, ?, 'building', 0, 0, ?, ?, ?, 0)`,
)
export const readSystem = sql('terminology.system', `SELECT ${SYSTEM} FROM tx_system WHERE id = ?`)
export const readNamed = sql('terminology.named', `SELECT ${SYSTEM} FROM tx_system WHERE source = ? AND name = ?`)
/** Those that were loaded, in the order of their loads. */
export const readLoaded = sql(
  'terminology.loaded',
  `SELECT ${SYSTEM} FROM tx_system WHERE url = ? AND source IN ('pull', 'load') AND state = 'ready' ORDER BY id`,
)
export const readBuilding = sql(
  'terminology.building',
  `SELECT ${SYSTEM} FROM tx_system WHERE state = 'building' ORDER BY id`,
)
/** Definitions of packages in the index. */
export const readPackaged = sql(
  'terminology.packaged',
  "SELECT DISTINCT name FROM tx_system WHERE source = 'package' AND state <> 'ended' ORDER BY name",
)
export const readEnded = sql(
  'terminology.ended',
  `SELECT ${SYSTEM} FROM tx_system WHERE state = 'ended' AND ended <= ? ORDER BY id`,
)
export const setProgress = sql('terminology.progress', 'UPDATE tx_system SET batches = ?, size = ? WHERE id = ?')
export const setReady = sql(
  'terminology.ready',
  "UPDATE tx_system SET state = 'ready' WHERE id = ? AND state = 'building'",
)
export const endSystem = sql(
  'terminology.end',
  "UPDATE tx_system SET state = 'ended', ended = ? WHERE id = ? AND state <> 'ended'",
)
export const deleteSystem = sql('terminology.delete-system', 'DELETE FROM tx_system WHERE id = ?')

/** One parameter is JSON: an array of rows, each an array of the columns behind `system`. */
const insertRows = (table: string, columns: readonly (readonly [name: string, type: 'integer' | 'text'])[]): Sql => {
  const names = columns.map(([name]) => name).join(', ')
  const cell = (one: string, type: string, at: number): string =>
    type === 'integer' ? `CAST(${one} ->> ${at} AS integer)` : `${one} ->> ${at}`
  const cells = (one: string): string => columns.map(([, type], at) => cell(one, type, at)).join(', ')
  const insert = `INSERT INTO ${table} (system, ${names}) SELECT CAST(? AS integer), `
  return sql(`terminology.insert-${table}`, {
    sqlite: `${insert}${cells('w.value')} FROM json_each(?) w`,
    postgres: `${insert}${cells('w.value')} FROM jsonb_array_elements(CAST(? AS jsonb)) w`,
  })
}
export const insertConcepts = insertRows('tx_concept', [
  ['place', 'integer'],
  ['code', 'text'],
  ['key', 'text'],
  ['display', 'text'],
  ['code_text', 'text'],
  ['text', 'text'],
  ['inactive', 'integer'],
  ['abstract', 'integer'],
])
export const insertDetails = insertRows('tx_detail', [
  ['place', 'integer'],
  ['definition', 'text'],
  ['body', 'text'],
])
export const insertProperties = insertRows('tx_property', [
  ['place', 'integer'],
  ['n', 'integer'],
  ['name', 'text'],
  ['head', 'text'],
  ['value', 'text'],
])
export const insertDesignations = insertRows('tx_designation', [
  ['place', 'integer'],
  ['n', 'integer'],
  ['language', 'text'],
  ['text', 'text'],
])
export const insertParents = insertRows('tx_parent', [
  ['child', 'integer'],
  ['n', 'integer'],
  ['code', 'text'],
])

/** Parameters: the system, and the first place and the one behind the last. Parents that no concept has are left out. */
export const insertEdges = sql(
  'terminology.edges',
  'INSERT INTO tx_edge (system, child, n, parent) SELECT p.system, p.child, p.n, c.place FROM tx_parent p CROSS JOIN tx_concept c WHERE p.system = ? AND p.child >= ? AND p.child < ? AND c.system = p.system AND c.code = p.code',
)
const deletePlaces = (table: string, place = 'place'): Sql =>
  sql(`terminology.delete-${table}`, `DELETE FROM ${table} WHERE system = ? AND ${place} >= ? AND ${place} < ?`)
export const deleteParents = deletePlaces('tx_parent', 'child')
/** Each with the parameters of `insertEdges`. */
export const DELETIONS: readonly Sql[] = [
  deletePlaces('tx_concept'),
  deletePlaces('tx_detail'),
  deletePlaces('tx_property'),
  deletePlaces('tx_designation'),
  deleteParents,
  deletePlaces('tx_edge', 'child'),
]
/** The largest place that any concept has. */
export const readLastPlace = sql(
  'terminology.last-place',
  'SELECT max(place) AS place FROM tx_concept WHERE system = ?',
)
