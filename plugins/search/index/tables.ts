/**
 * The search index: narrow rows under integer keys, ordered so that the rarest clause is scanned and the others are
 * looked up. `rid` is last where values are found, first where the values of one resource are (sorting, ranges, chains).
 */
import type { SchemaChange } from '../../../kernel/index.ts'
import { type DeferredInsert, type Sql, sql } from '../../database/service.ts'
import {
  COMPOSITE_COLUMNS,
  DATE_COLUMNS,
  QUANTITY_COLUMNS,
  REFERENCE_COLUMNS,
  STRING_COLUMNS,
  TOKEN_COLUMNS,
} from './index-entries.ts'

const SHARED = [
  'CREATE TABLE search_setting (name varchar(32) PRIMARY KEY, value text NOT NULL)',
  // What is indexed. `ready` is 0 while resources stored earlier are not all in it.
  'CREATE TABLE search_column (code integer PRIMARY KEY, type varchar(64) NOT NULL, kind varchar(16) NOT NULL, expression text NOT NULL, bit integer NOT NULL, ready integer NOT NULL)',
  // How far a backfill has come: resources up to this rid are done.
  'CREATE TABLE search_backfill (type varchar(64) PRIMARY KEY, rid bigint NOT NULL)',
]

const tables = (suffix: string, real: string, text: string): readonly string[] => [
  // One row per current resource: what it has values for (bits of m0 to m2), and the hash of Type/id that references hold.
  `CREATE TABLE ix_res (type integer NOT NULL, rid bigint NOT NULL, ref bigint NOT NULL, m0 bigint NOT NULL, m1 bigint NOT NULL, m2 bigint NOT NULL, PRIMARY KEY (type, rid))${suffix}`,
  'CREATE INDEX ix_res_ref ON ix_res (ref)',
  `CREATE TABLE ix_token (param integer NOT NULL, val bigint NOT NULL, sys integer NOT NULL, rid bigint NOT NULL, PRIMARY KEY (param, val, sys, rid))${suffix}`,
  `CREATE TABLE ix_ref (param integer NOT NULL, target bigint NOT NULL, rid bigint NOT NULL, PRIMARY KEY (param, target, rid))${suffix}`,
  'CREATE INDEX ix_ref_rid ON ix_ref (rid, param, target)',
  `CREATE TABLE ix_date (param integer NOT NULL, lo bigint NOT NULL, hi bigint NOT NULL, rid bigint NOT NULL, PRIMARY KEY (param, lo, hi, rid))${suffix}`,
  'CREATE INDEX ix_date_rid ON ix_date (rid, param, lo, hi)',
  `CREATE TABLE ix_qty (param integer NOT NULL, lo ${real} NOT NULL, hi ${real} NOT NULL, code bigint NOT NULL, sys integer NOT NULL, unit integer NOT NULL, rid bigint NOT NULL, PRIMARY KEY (param, lo, hi, code, sys, unit, rid))${suffix}`,
  'CREATE INDEX ix_qty_rid ON ix_qty (rid, param)',
  `CREATE TABLE ix_str (param integer NOT NULL, val ${text} NOT NULL, exact bigint NOT NULL, tail ${text}, rid bigint NOT NULL, PRIMARY KEY (param, val, exact, rid))${suffix}`,
  'CREATE INDEX ix_str_rid ON ix_str (rid, param)',
  // The components of a composite, kept together.
  `CREATE TABLE ix_comp (param integer NOT NULL, val bigint NOT NULL, sys integer NOT NULL, lo ${real} NOT NULL, hi ${real} NOT NULL, val2 bigint NOT NULL, sys2 integer NOT NULL, lo2 ${real} NOT NULL, hi2 ${real} NOT NULL, txt ${text} NOT NULL, rid bigint NOT NULL, PRIMARY KEY (param, val, sys, rid, lo, hi, val2, sys2, lo2, hi2, txt))${suffix}`,
  // Displays by their text, for `:text`: the token rows of a display hold its hash.
  `CREATE TABLE ix_text (param integer NOT NULL, txt ${text} NOT NULL, val bigint NOT NULL, PRIMARY KEY (param, txt))${suffix}`,
]

export const searchMigrations: readonly SchemaChange[] = [
  {
    name: 'fhir/0002-search-index',
    sql: {
      sqlite: [...SHARED, ...tables(' WITHOUT ROWID', 'real', 'text')],
      // Bytes in order, as SQLite compares: prefixes are ranges.
      postgres: [...SHARED, ...tables('', 'double precision', 'text COLLATE "C"')],
    },
  },
  {
    name: 'fhir/0003-search-parameters',
    sql: [
      // How far a column is filled: resources up to this rid are in it, of how many. DIRTY and GONE are no rids.
      'ALTER TABLE search_column ADD COLUMN reach bigint NOT NULL DEFAULT -1',
      'ALTER TABLE search_column ADD COLUMN indexed bigint NOT NULL DEFAULT 0',
      'ALTER TABLE search_column ADD COLUMN expected bigint NOT NULL DEFAULT 0',
      'DROP TABLE search_backfill',
      // SearchParameter resources at work: those that are active, and those that retire one of a package.
      'CREATE TABLE search_parameter (rid bigint PRIMARY KEY, id varchar(64) NOT NULL, url text NOT NULL, status varchar(16) NOT NULL, body text NOT NULL)',
    ],
  },
]

export const displayMigrations: readonly SchemaChange[] = [
  {
    name: 'fhir/0005-displays',
    sql: {
      sqlite: [],
      // A unique key makes whoever writes a display wait for the transaction that wrote it first; a second row is no harm.
      postgres: [
        'ALTER TABLE ix_text DROP CONSTRAINT ix_text_pkey',
        'CREATE INDEX ix_text_txt ON ix_text (param, txt, val)',
      ],
    },
  },
]

/** A table of index rows: how many values its rows have in `Rows`, and its columns in that order before `rid`. */
export interface IndexTable {
  readonly name: string
  readonly width: number
  readonly columns: readonly string[]
  /** Columns that tell rows apart; the rest comes along. */
  readonly key: readonly string[]
}

const table = (name: string, width: number, columns: string, key = columns): IndexTable => ({
  name,
  width,
  columns: columns.split(' '),
  key: key.split(' '),
})

const COMPOSITE_KEY = 'param val sys lo hi val2 sys2 lo2 hi2 txt lo_rest hi_rest lo2_rest hi2_rest'

export const TABLES = {
  token: table('ix_token', TOKEN_COLUMNS, 'param val sys'),
  reference: table('ix_ref', REFERENCE_COLUMNS, 'param target'),
  date: table('ix_date', DATE_COLUMNS, 'param lo hi'),
  quantity: table('ix_qty', QUANTITY_COLUMNS, 'param lo hi code sys unit lo_rest hi_rest'),
  string: table('ix_str', STRING_COLUMNS, 'param val exact tail', 'param val exact'),
  composite: table('ix_comp', COMPOSITE_COLUMNS, `${COMPOSITE_KEY} tail`, COMPOSITE_KEY),
} as const

export type IndexTableKind = keyof typeof TABLES
export const INDEX_KINDS = Object.keys(TABLES) as readonly IndexTableKind[]

/** Most rows of one statement: each count has a prepared statement of its own. */
export const MAX_ROWS = 24

const insertText = ({ name, columns }: IndexTable, rows: number): { sqlite: string; postgres: string } => {
  const row = `(${columns.map(() => '?').join(', ')}, ?)`
  const text = `INTO ${name} (${columns.join(', ')}, rid) VALUES ${Array(rows).fill(row).join(', ')}`
  // A statement that cannot fail half-way needs no copies of the pages it touches.
  return { sqlite: `INSERT OR IGNORE ${text}`, postgres: `INSERT ${text} ON CONFLICT DO NOTHING` }
}

/** Inserts of 1, 2, … rows at once. */
export const insertIndexRows = Object.fromEntries(
  INDEX_KINDS.map((kind): [IndexTableKind, DeferredInsert] => {
    const { name, width } = TABLES[kind]
    const counts = Array.from({ length: MAX_ROWS }, (_, at) =>
      sql(`search.insert-${kind}-${at + 1}`, insertText(TABLES[kind], at + 1)),
    )
    return [kind, { table: name, width: width + 1, counts }]
  }),
) as Record<IndexTableKind, DeferredInsert>

export const deleteRow = Object.fromEntries(
  INDEX_KINDS.map((kind) => {
    const { name, key } = TABLES[kind]
    return [
      kind,
      sql(
        `search.delete-${kind}`,
        `DELETE FROM ${name} WHERE ${key.map((one) => `${one} = ?`).join(' AND ')} AND rid = ?`,
      ),
    ]
  }),
) as unknown as Record<IndexTableKind, Sql>

/** So many rows of a column go in one transaction. */
export const MAX_REMOVED = 500

/** For each table: whether a range of columns has more rows than that, and the removal of them, or of so many. */
export const removals = INDEX_KINDS.map((kind) => {
  const { name, key } = TABLES[kind]
  const range = 'param >= ? AND param < ?'
  const columns = [...key, 'rid'].join(', ')
  return {
    count: sql(
      `search.count-${kind}`,
      `SELECT count(*) AS n FROM (SELECT 1 AS one FROM ${name} WHERE ${range} LIMIT ${MAX_REMOVED + 1}) x`,
    ),
    all: sql(`search.drop-${kind}`, `DELETE FROM ${name} WHERE ${range}`),
    some: sql(
      `search.drop-some-${kind}`,
      `DELETE FROM ${name} WHERE (${columns}) IN (SELECT ${columns} FROM ${name} WHERE ${range} LIMIT ${MAX_REMOVED})`,
    ),
  }
})
export const removeTexts = sql('search.drop-text', 'DELETE FROM ix_text WHERE param >= ? AND param < ?')

/** The rid `MAX_REMOVED` resources of a type further on. */
export const readBatchEnd = sql(
  'search.stride',
  `SELECT rid FROM ix_res WHERE type = ? AND rid > ? ORDER BY rid LIMIT 1 OFFSET ${MAX_REMOVED - 1}`,
)
/** Takes a bit out of one mask of the resources in a range: `& ?` is every other bit. */
export const clearBits = [0, 1, 2].map((mask) =>
  sql(
    `search.clear-bit-${mask}`,
    `UPDATE ix_res SET m${mask} = m${mask} & ? WHERE type = ? AND rid > ? AND rid <= ? AND (m${mask} & ?) != 0`,
  ),
)

export const insertResourceRow: DeferredInsert = {
  table: 'ix_res',
  width: 6,
  counts: [
    sql(
      'search.insert-res',
      'INSERT INTO ix_res (type, rid, ref, m0, m1, m2) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (type, rid) DO UPDATE SET m0 = excluded.m0, m1 = excluded.m1, m2 = excluded.m2',
    ),
  ],
}
/** The same for some columns of a resource: bits of others stay. */
export const mergeResourceRow = sql(
  'search.merge-res',
  'INSERT INTO ix_res (type, rid, ref, m0, m1, m2) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (type, rid) DO UPDATE SET m0 = ix_res.m0 | excluded.m0, m1 = ix_res.m1 | excluded.m1, m2 = ix_res.m2 | excluded.m2',
)
export const deleteResourceRow = sql('search.delete-res', 'DELETE FROM ix_res WHERE type = ? AND rid = ?')
export const insertDisplay: DeferredInsert = {
  table: 'ix_text',
  width: 4,
  counts: [
    sql('search.insert-text', {
      sqlite: 'INSERT INTO ix_text (param, txt, val, tail) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
      postgres:
        'INSERT INTO ix_text (param, txt, val, tail) SELECT v.param, v.txt, v.val, v.tail FROM (VALUES (?::integer, ?::text, ?::bigint, ?::text)) v(param, txt, val, tail) WHERE NOT EXISTS (SELECT 1 FROM ix_text x WHERE x.param = v.param AND x.txt = v.txt AND x.val = v.val)',
    }),
  ],
}

export const readSearchSettings = sql('search.settings', 'SELECT name, value FROM search_setting')
export const insertSetting = sql(
  'search.setting',
  'INSERT INTO search_setting (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING',
)
/** Of `reach`: rows of an earlier life are still there. */
export const DIRTY = -1
/** Of `reach`: no parameter uses the column any more; its rows are to be removed. */
export const GONE = -2

const COLUMN = 'code, type, kind, expression, bit, ready, reach, indexed, expected'
export const readIndexColumns = sql('search.columns', `SELECT ${COLUMN} FROM search_column ORDER BY code`)
export const insertColumn = sql(
  'search.column',
  `INSERT INTO search_column (${COLUMN}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
)
/** Puts a column that was complete, or on its way, to another state. */
export const setBackfilledTo = sql(
  'search.reach',
  'UPDATE search_column SET ready = 0, reach = ?, indexed = 0, expected = 0 WHERE code = ?',
)
/** Whoever fills columns of a type holds them until COMMIT: two servers take turns. */
export const lockUnready = sql('search.lock-unready', {
  sqlite: `SELECT ${COLUMN} FROM search_column WHERE type = ? AND ready = 0 AND reach >= 0`,
  postgres: `SELECT ${COLUMN} FROM search_column WHERE type = ? AND ready = 0 AND reach >= 0 ORDER BY code FOR UPDATE`,
})
export const lockColumn = sql('search.lock-column', {
  sqlite: `SELECT ${COLUMN} FROM search_column WHERE code = ?`,
  postgres: `SELECT ${COLUMN} FROM search_column WHERE code = ? FOR UPDATE`,
})
export const advance = sql(
  'search.advance',
  'UPDATE search_column SET reach = ?, indexed = indexed + ? WHERE code = ? AND ready = 0',
)
export const setExpected = sql('search.expected', 'UPDATE search_column SET expected = ? WHERE code = ? AND ready = 0')
export const setReady = sql('search.ready', 'UPDATE search_column SET ready = 1 WHERE code = ? AND ready = 0')
export const dropColumn = sql('search.drop-column', `DELETE FROM search_column WHERE code = ? AND reach = ${GONE}`)

/** The highest number a column ever had: numbers are not given again, whatever is still looking at the old one. */
export const readLastColumn = sql(
  'search.last-column',
  "SELECT CAST(value AS bigint) AS code FROM search_setting WHERE name = 'last-column'",
)
export const writeLastColumn = sql(
  'search.last-column-write',
  "INSERT INTO search_setting (name, value) VALUES ('last-column', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
)

/** What has changed in columns and posted parameters since a process looked: it looks again when this is another. */
export const readGeneration = sql('search.generation', "SELECT value FROM search_setting WHERE name = 'generation'")
export const nextGeneration = sql(
  'search.generation-next',
  "INSERT INTO search_setting (name, value) VALUES ('generation', '1') ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(search_setting.value AS bigint) + 1 AS text)",
)
/** What whoever changes posted parameters, or settles columns by them, holds until COMMIT. */
export const POSTING = 'search-parameters'
export const readPosted = sql('search.posted', 'SELECT rid, id, url, status, body FROM search_parameter ORDER BY rid')
export const putPosted = sql(
  'search.posted-put',
  'INSERT INTO search_parameter (rid, id, url, status, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT (rid) DO UPDATE SET url = excluded.url, status = excluded.status, body = excluded.body',
)
export const dropPosted = sql('search.posted-drop', 'DELETE FROM search_parameter WHERE rid = ?')

export const readUsedTypes = sql(
  'search.types-used',
  'SELECT t.code FROM resource_type t WHERE EXISTS (SELECT 1 FROM ix_res r WHERE r.type = t.code) ORDER BY t.code',
)
/** Resources of a type that others contain, from a place on. */
export const readContained = sql(
  'search.contained',
  'SELECT rid FROM ix_res WHERE type = ? AND rid >= ? ORDER BY rid LIMIT ?',
)
/** Types that have a resource, or of which a resource contains one: `?` is how far apart those lie. */
export const readHeldTypes = sql(
  'search.types-held',
  'SELECT t.code FROM resource_type t WHERE EXISTS (SELECT 1 FROM resource r WHERE r.type = t.code) OR EXISTS (SELECT 1 FROM ix_res x WHERE x.type = t.code - CAST(? AS integer))',
)
export const countResources = sql(
  'search.count-resources',
  'SELECT count(*) AS n FROM resource WHERE type = ? AND (flags & 1) = 0',
)

/** Rows of resources that are not there any more, of a type in a range. */
export const removeOrphanedRows = sql(
  'search.remove-strays',
  'DELETE FROM ix_res WHERE type = ? AND rid > ? AND rid <= ? AND NOT EXISTS (SELECT 1 FROM resource r WHERE r.rid = ix_res.rid AND (r.flags & 1) = 0)',
)
/** What a reindex is about, until it is done. */
export const readReindex = sql('search.reindex', "SELECT value FROM search_setting WHERE name = 'reindex'")
export const writeReindex = sql(
  'search.reindex-write',
  "INSERT INTO search_setting (name, value) VALUES ('reindex', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
)
export const dropReindex = sql('search.reindex-drop', "DELETE FROM search_setting WHERE name = 'reindex'")
