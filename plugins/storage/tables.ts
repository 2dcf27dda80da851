/** The tables of the storage. `resource` holds the current version of each resource, `history` the superseded ones. */
import type { SchemaChange } from '../../kernel/index.ts'
import { sql } from '../database/service.ts'

const resource = (bytes: string, integer: string): string =>
  `CREATE TABLE resource (rid ${integer} PRIMARY KEY, type integer NOT NULL, id varchar(64) NOT NULL, ver integer NOT NULL, upd bigint NOT NULL, flags integer NOT NULL, body ${bytes})`
const history = (bytes: string): string =>
  `CREATE TABLE history (rid bigint NOT NULL, ver integer NOT NULL, type integer NOT NULL, upd bigint NOT NULL, flags integer NOT NULL, body ${bytes}, PRIMARY KEY (rid, ver))`
const shared = [
  'CREATE TABLE resource_type (code integer PRIMARY KEY, name varchar(64) NOT NULL UNIQUE)',
  'CREATE UNIQUE INDEX resource_id ON resource (type, id)',
  // Versions of a type by time: for the search parameter _lastUpdated and the history of a type.
  'CREATE INDEX resource_upd ON resource (type, upd)',
  'CREATE INDEX history_upd ON history (type, upd)',
  // Compiled definitions of the installed packages. The plugin model uses this table.
  'CREATE TABLE catalog (fingerprint varchar(128) PRIMARY KEY, body text NOT NULL)',
]

export const storageMigrations: readonly SchemaChange[] = [
  {
    name: 'fhir/0001-resources',
    sql: {
      // INTEGER PRIMARY KEY is the rowid in SQLite, which saves one B-tree.
      sqlite: [resource('blob', 'integer'), history('blob'), ...shared],
      postgres: [
        resource('bytea', 'bigint'),
        history('bytea'),
        // The bodies are compressed already: another attempt by PostgreSQL would cost time and save no space.
        'ALTER TABLE resource ALTER COLUMN body SET STORAGE EXTERNAL',
        'ALTER TABLE history ALTER COLUMN body SET STORAGE EXTERNAL',
        ...shared,
      ],
    },
  },
]

/**
 * Changes no table. A build without this migration cannot read compressed small bodies; the recorded name stops it from
 * opening the database.
 */
export const smallBodyMigrations: readonly SchemaChange[] = [{ name: 'fhir/0006-small-bodies', sql: [] }]

/** Resource keys per block: a server takes a whole block from the sequence. */
export const KEY_BLOCK = 64

/** Sequences for PostgreSQL, where several servers write: of blocks of resource keys, and of numbers of servers. */
export const keyMigrations: readonly SchemaChange[] = [
  {
    name: 'fhir/0008-keys',
    sql: {
      sqlite: [],
      postgres: [
        `CREATE SEQUENCE resource_key INCREMENT BY ${KEY_BLOCK}`,
        "SELECT setval('resource_key', (SELECT coalesce(max(rid), 0) + 1 FROM resource), false)",
        'CREATE SEQUENCE resource_writer',
      ],
    },
  },
]

/** A row of `resource`, or of `history` with its `id` joined. */
export interface VersionRow {
  readonly rid: number
  readonly type: number
  readonly id: string
  readonly ver: number
  readonly upd: number
  readonly flags: number
  readonly body: Buffer | null
}

const COLUMNS = 'rid, type, id, ver, upd, flags, body'
const HISTORY_COLUMNS = 'h.rid, h.type, r.id, h.ver, h.upd, h.flags, h.body'

export const readCurrent = sql('fhir.read', `SELECT ${COLUMNS} FROM resource WHERE type = ? AND id = ?`)
/** The number of the current version, without its body. */
export const readCurrentNumber = sql('fhir.read-number', 'SELECT ver FROM resource WHERE rid = ?')
const lock = (name: string, strength: string) =>
  sql(name, {
    sqlite: `SELECT ${COLUMNS} FROM resource WHERE type = ? AND id = ?`,
    postgres: `SELECT ${COLUMNS} FROM resource WHERE type = ? AND id = ? FOR ${strength}`,
  })
/** The same inside a transaction; on PostgreSQL it also locks the row against changes by others until COMMIT. */
export const lockCurrent = lock('fhir.lock', 'NO KEY UPDATE')
/** The same before a deletion: the stronger lock also keeps others from adding references to the resource. */
export const lockForDelete = lock('fhir.lock-doomed', 'UPDATE')
// The parameter is JSON, [[type, id], …]. A nested loop over it locks the rows in its order; OFFSET 0 keeps the planner from
// joining otherwise. Gives the places in the list of those that exist.
const lockRows = (name: string, strength: string) => {
  const targets =
    '(SELECT t.at, (t.one ->> 0)::int AS type, t.one ->> 1 AS id FROM jsonb_array_elements(?::jsonb) WITH ORDINALITY AS t(one, at) ORDER BY t.at OFFSET 0) w'
  const locked = `SELECT r.rid FROM resource r WHERE r.type = w.type AND r.id = w.id FOR ${strength} OF r`
  return sql(name, `SELECT (w.at - 1)::int AS at FROM ${targets} CROSS JOIN LATERAL (${locked}) f`)
}
/** PostgreSQL only: `lockCurrent` of several resources. */
export const lockSeveral = lockRows('fhir.lock-several', 'NO KEY UPDATE')
/** PostgreSQL only: `lockForDelete` of several resources. */
export const lockSeveralForDelete = lockRows('fhir.lock-several-for-delete', 'UPDATE')
export const readSuperseded = sql(
  'fhir.vread',
  `SELECT ${HISTORY_COLUMNS} FROM resource r JOIN history h ON h.rid = r.rid WHERE r.type = ? AND r.id = ? AND h.ver = ?`,
)

/** Stored bytes of several versions that are read at once: the rows after these come without a body and with `fits` 0. */
const SEVERAL_BYTES = 4 * 1024 * 1024
/**
 * Reads several versions. The parameter is JSON, a list of pairs. `first` and `second` are the columns of `table`, alias `x`,
 * that are equal to the two of a pair. `at` is the place in the list.
 */
const readPairs = (name: string, table: string, [first, second]: readonly [string, string], isText: boolean) => {
  const list = {
    sqlite: "SELECT key AS at, value ->> '$[0]' AS one, value ->> '$[1]' AS two FROM json_each(?)",
    postgres: `SELECT (t.at - 1)::int AS at, (t.pair ->> 0)::bigint AS one, ${isText ? 't.pair ->> 1' : '(t.pair ->> 1)::int'} AS two FROM jsonb_array_elements(?::jsonb) WITH ORDINALITY AS t(pair, at)`,
  }
  const size = 'coalesce(length(x.body), 0)'
  // CROSS JOIN keeps SQLite from reading the table before the list.
  const readFrom = (pairs: string): string => `SELECT s.at, s.fits, x.rid, x.type, r.id, x.ver, x.upd, x.flags,
      CASE WHEN s.fits = 1 THEN x.body END AS body
    FROM (SELECT w.at, w.one, w.two, CASE WHEN sum(${size}) OVER (ORDER BY w.at) - ${size} < ${SEVERAL_BYTES} THEN 1 ELSE 0 END AS fits
      FROM (${pairs}) w CROSS JOIN ${table} x WHERE x.${first} = w.one AND x.${second} = w.two) s
    CROSS JOIN ${table} x CROSS JOIN resource r
    WHERE x.${first} = s.one AND x.${second} = s.two AND r.rid = x.rid ORDER BY s.at`
  return sql(name, { sqlite: readFrom(list.sqlite), postgres: readFrom(list.postgres) })
}
/** The current versions of a list of codes of types and ids. */
export const readSeveralCurrent = readPairs('fhir.read-several', 'resource', ['type', 'id'], true)
/** The superseded versions of a list of resource keys and numbers. */
export const readSeveralSuperseded = readPairs('fhir.vread-several', 'history', ['rid', 'ver'], false)
export type SeveralRow = VersionRow & { readonly at: number; readonly fits: number }
export const insertResource = sql('fhir.insert', `INSERT INTO resource (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`)
export const archiveCurrent = sql(
  'fhir.archive',
  'INSERT INTO history (rid, ver, type, upd, flags, body) SELECT rid, ver, type, upd, flags, body FROM resource WHERE rid = ?',
)
/** Superseded versions behind a number, a few at once: their bodies may be large. */
export const readPastVersions = sql(
  'fhir.past',
  'SELECT rid, ver, upd, flags, body FROM history WHERE rid = ? AND ver > ? ORDER BY ver LIMIT 10',
)
export const erasePastVersions = sql('fhir.erase-past', 'DELETE FROM history WHERE rid = ? AND ver <= ?')
/** The number of the first version that was not erased. */
export const readFirstNumber = sql('fhir.first-number', 'SELECT min(ver) AS ver FROM history WHERE rid = ?')
export const updateResource = sql(
  'fhir.update',
  'UPDATE resource SET ver = ?, upd = ?, flags = ?, body = ? WHERE rid = ?',
)
export const readNewestKeys = sql(
  'fhir.newest',
  // The newest time of a type is one step in the index resource_upd; no index gives the newest of all types.
  'SELECT (SELECT max(rid) FROM resource) AS rid, (SELECT max(newest) FROM (SELECT (SELECT max(r.upd) FROM resource r WHERE r.type = t.code) AS newest FROM resource_type t) each_type) AS upd',
)
/** The next number of a server, by which servers on one database keep their version times apart. */
export const nextWriter = sql('fhir.writer', {
  sqlite: 'SELECT 0 AS number',
  postgres: "SELECT nextval('resource_writer') AS number",
})
export const readTypes = sql('fhir.types', 'SELECT code, name FROM resource_type ORDER BY code')
export const insertType = sql('fhir.type', 'INSERT INTO resource_type (code, name) VALUES (?, ?)')
