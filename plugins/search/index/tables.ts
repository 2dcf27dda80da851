/**
 * Tables of the search index. A search scans the rows of its rarest clause and looks up the others. The resource key
 * `rid` is last in keys that find resources by value, and first in keys for the values of one resource.
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
  // The index columns. `ready` is 0 until all resources that were stored earlier are in the column.
  'CREATE TABLE search_column (code integer PRIMARY KEY, type varchar(64) NOT NULL, kind varchar(16) NOT NULL, expression text NOT NULL, bit integer NOT NULL, ready integer NOT NULL)',
  // Progress of a backfill: resources up to this resource key are done.
  'CREATE TABLE search_backfill (type varchar(64) PRIMARY KEY, rid bigint NOT NULL)',
]

const tables = (suffix: string, real: string, text: string): readonly string[] => [
  // One row for each current resource: bits of the columns it has values in, and the hash of Type/id for references.
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
  // All components of a composite in one row.
  `CREATE TABLE ix_comp (param integer NOT NULL, val bigint NOT NULL, sys integer NOT NULL, lo ${real} NOT NULL, hi ${real} NOT NULL, val2 bigint NOT NULL, sys2 integer NOT NULL, lo2 ${real} NOT NULL, hi2 ${real} NOT NULL, txt ${text} NOT NULL, rid bigint NOT NULL, PRIMARY KEY (param, val, sys, rid, lo, hi, val2, sys2, lo2, hi2, txt))${suffix}`,
  // Displays by their text, for `:text`: the token rows of a display hold its hash.
  `CREATE TABLE ix_text (param integer NOT NULL, txt ${text} NOT NULL, val bigint NOT NULL, PRIMARY KEY (param, txt))${suffix}`,
]

export const searchMigrations: readonly SchemaChange[] = [
  {
    name: 'fhir/0002-search-index',
    sql: {
      sqlite: [...SHARED, ...tables(' WITHOUT ROWID', 'real', 'text')],
      // Compares bytes, as SQLite does, so that a search for a prefix is a range.
      postgres: [...SHARED, ...tables('', 'double precision', 'text COLLATE "C"')],
    },
  },
  {
    name: 'fhir/0003-search-parameters',
    sql: [
      // `reach`: resources up to this key are indexed, or DIRTY or GONE. `indexed` of `expected` resources are done.
      'ALTER TABLE search_column ADD COLUMN reach bigint NOT NULL DEFAULT -1',
      'ALTER TABLE search_column ADD COLUMN indexed bigint NOT NULL DEFAULT 0',
      'ALTER TABLE search_column ADD COLUMN expected bigint NOT NULL DEFAULT 0',
      'DROP TABLE search_backfill',
      // Posted SearchParameters that are active, or that retire one of a package.
      'CREATE TABLE search_parameter (rid bigint PRIMARY KEY, id varchar(64) NOT NULL, url text NOT NULL, status varchar(16) NOT NULL, body text NOT NULL)',
    ],
  },
]

export const displayMigrations: readonly SchemaChange[] = [
  {
    name: 'fhir/0005-displays',
    sql: {
      sqlite: [],
      // With a unique key, writers of a display would wait for the first one's transaction. Duplicates do no harm.
      postgres: [
        'ALTER TABLE ix_text DROP CONSTRAINT ix_text_pkey',
        'CREATE INDEX ix_text_txt ON ix_text (param, txt, val)',
      ],
    },
  },
]

/** A table of index rows: the values of a row in `IndexEntries`, and its columns in that order before `rid`. */
export interface IndexTable {
  readonly name: string
  readonly width: number
  readonly columns: readonly string[]
  /** Columns that identify a row of a resource; the others follow them. */
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

/** Most rows of one insert. There is a prepared statement for each number of rows. */
export const MAX_ROWS = 24

const insertText = ({ name, columns }: IndexTable, rows: number): { sqlite: string; postgres: string } => {
  const row = `(${columns.map(() => '?').join(', ')}, ?)`
  const text = `INTO ${name} (${columns.join(', ')}, rid) VALUES ${Array(rows).fill(row).join(', ')}`
  // OR IGNORE cannot fail half-way, so SQLite keeps no copies of the pages it changes.
  return { sqlite: `INSERT OR IGNORE ${text}`, postgres: `INSERT ${text} ON CONFLICT DO NOTHING` }
}

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

/** Most rows of a column that one transaction removes. */
export const MAX_REMOVED = 500

/** For a range of columns: tests for more than MAX_REMOVED rows, removes all, or removes that many. */
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

/** The resource key that is MAX_REMOVED resources of a type further on. */
export const readBatchEnd = sql(
  'search.stride',
  `SELECT rid FROM ix_res WHERE type = ? AND rid > ? ORDER BY rid LIMIT 1 OFFSET ${MAX_REMOVED - 1}`,
)
/** Removes a bit from one mask of the resources in a range. The parameter of `& ?` has all other bits. */
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
/** Adds the bits of some columns to the row of a resource; its other bits stay. */
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
/** Value of `reach`: the column still has rows from before and has to be cleared. */
export const DIRTY = -1
/** Value of `reach`: no parameter uses the column; its rows are to be removed. */
export const GONE = -2

const COLUMN = 'code, type, kind, expression, bit, ready, reach, indexed, expected'
export const readIndexColumns = sql('search.columns', `SELECT ${COLUMN} FROM search_column ORDER BY code`)
export const insertColumn = sql(
  'search.column',
  `INSERT INTO search_column (${COLUMN}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
)
/** Resets a column to a state in which it is incomplete. */
export const setBackfilledTo = sql(
  'search.reach',
  'UPDATE search_column SET ready = 0, reach = ?, indexed = 0, expected = 0 WHERE code = ?',
)
/** Locks the incomplete columns of a type until COMMIT, so that two servers take turns. */
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

/** The highest code of any column so far. Codes are not reused: another server may still read the old column. */
export const readLastColumn = sql(
  'search.last-column',
  "SELECT CAST(value AS bigint) AS code FROM search_setting WHERE name = 'last-column'",
)
export const writeLastColumn = sql(
  'search.last-column-write',
  "INSERT INTO search_setting (name, value) VALUES ('last-column', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
)

/** A counter of changes to columns and posted SearchParameters. A process reads both again when it has increased. */
export const readGeneration = sql('search.generation', "SELECT value FROM search_setting WHERE name = 'generation'")
export const nextGeneration = sql(
  'search.generation-next',
  "INSERT INTO search_setting (name, value) VALUES ('generation', '1') ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(search_setting.value AS bigint) + 1 AS text)",
)
/** Name of the lock that a transaction holds when it changes posted SearchParameters or settles columns by them. */
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
/** Contained resources of a type, from a key on. */
export const readContained = sql(
  'search.contained',
  'SELECT rid FROM ix_res WHERE type = ? AND rid >= ? ORDER BY rid LIMIT ?',
)
/** Types of which there is a resource or a contained resource. The parameter is CONTAINED_OFFSET. */
export const readHeldTypes = sql(
  'search.types-held',
  'SELECT t.code FROM resource_type t WHERE EXISTS (SELECT 1 FROM resource r WHERE r.type = t.code) OR EXISTS (SELECT 1 FROM ix_res x WHERE x.type = t.code - CAST(? AS integer))',
)
export const countResources = sql(
  'search.count-resources',
  'SELECT count(*) AS n FROM resource WHERE type = ? AND (flags & 1) = 0',
)

/** Removes rows of deleted resources of a type, in a range of resource keys. */
export const removeOrphanedRows = sql(
  'search.remove-strays',
  'DELETE FROM ix_res WHERE type = ? AND rid > ? AND rid <= ? AND NOT EXISTS (SELECT 1 FROM resource r WHERE r.rid = ix_res.rid AND (r.flags & 1) = 0)',
)
/** The scope of a reindex that has not finished. */
export const readReindex = sql('search.reindex', "SELECT value FROM search_setting WHERE name = 'reindex'")
export const writeReindex = sql(
  'search.reindex-write',
  "INSERT INTO search_setting (name, value) VALUES ('reindex', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
)
export const dropReindex = sql('search.reindex-drop', "DELETE FROM search_setting WHERE name = 'reindex'")
