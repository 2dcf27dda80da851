/**
 * The list of changes that may end an access token, so that servers keep what they have read of a token until one of
 * them concerns it. Triggers write it: whatever changes the rows is in it, also an earlier build and SQL by hand.
 */
import type { SchemaChange } from '../../../kernel/index.ts'
import { sql } from '../../database/service.ts'

export type DependencyKind = 'token' | 'grant' | 'session' | 'client'

/** Rows that an access token depends on. `key` is SQL that makes text of the primary key: bytes in hexadecimal. */
interface Watched {
  readonly kind: DependencyKind
  readonly table: string
  readonly key: string
  readonly isBinary: boolean
  /** Rows that count, by column of the row as it was. */
  readonly where?: (row: string) => string
}

const WATCHED: readonly Watched[] = [
  // kind 1: access tokens. Refresh tokens are read from the database at each use.
  { kind: 'token', table: 'oauth_token', key: 'id_hash', isBinary: true, where: (row) => `${row}.kind = 1` },
  { kind: 'grant', table: 'oauth_grant', key: 'id', isBinary: true },
  { kind: 'session', table: 'oauth_session', key: 'id_hash', isBinary: true },
  { kind: 'client', table: 'oauth_client', key: 'client_id', isBinary: false },
]

const TABLES = [
  // One row: the number of the last change. Updating it makes transactions number their changes in the order of COMMIT.
  // `mark` is random: after a failover that has lost the last changes, other changes get their numbers.
  'CREATE TABLE smart_access_change_count (last bigint NOT NULL, mark varchar(36) NOT NULL)',
  "INSERT INTO smart_access_change_count (last, mark) VALUES (0, '')",
  'CREATE TABLE smart_access_change (number bigint NOT NULL, mark varchar(36) NOT NULL, kind varchar(16) NOT NULL, id text NOT NULL)',
  'CREATE INDEX smart_access_change_number ON smart_access_change (number)',
]

const sqliteTriggers = WATCHED.flatMap(({ kind, table, key, isBinary, where }) =>
  ['UPDATE', 'DELETE'].map((change) => {
    const id = isBinary ? `lower(hex(OLD.${key}))` : `OLD.${key}`
    const when = where === undefined ? '' : ` WHEN ${where('OLD')}`
    return `CREATE TRIGGER ${table}_${change.toLowerCase()} AFTER ${change} ON ${table} FOR EACH ROW${when} BEGIN UPDATE smart_access_change_count SET last = last + 1, mark = lower(hex(randomblob(16))); INSERT INTO smart_access_change (number, mark, kind, id) SELECT last, mark, '${kind}', ${id} FROM smart_access_change_count; END`
  }),
)

const MAX_LISTED = 100 // rows of a statement that are listed one by one; of more there is one entry, of kind `all`

// Once for each statement, because pruning deletes many rows by one.
const postgresTriggers = WATCHED.flatMap(({ kind, table, key, isBinary, where }) => {
  const id = isBinary ? `encode(gone.${key}, 'hex')` : `gone.${key}`
  const counts = where === undefined ? 'true' : where('gone')
  const name = `${table}_changed`
  return [
    `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE next smart_access_change_count; many bigint; BEGIN SELECT count(*) INTO many FROM gone WHERE ${counts}; IF many = 0 THEN RETURN NULL; END IF; UPDATE smart_access_change_count SET last = last + 1, mark = gen_random_uuid() RETURNING * INTO next; IF many > ${MAX_LISTED} THEN INSERT INTO smart_access_change (number, mark, kind, id) VALUES (next.last, next.mark, 'all', ''); ELSE INSERT INTO smart_access_change (number, mark, kind, id) SELECT next.last, next.mark, '${kind}', ${id} FROM gone WHERE ${counts}; END IF; RETURN NULL; END $$`,
    ...['UPDATE', 'DELETE'].map(
      (change) =>
        `CREATE TRIGGER ${table}_${change.toLowerCase()} AFTER ${change} ON ${table} REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ${name}()`,
    ),
  ]
})

export const accessChangeMigration: SchemaChange = {
  name: 'smart/0003-access-changes',
  sql: { sqlite: [...TABLES, ...sqliteTriggers], postgres: [...TABLES, ...postgresTriggers] },
}

export interface LastChangeRow {
  readonly last: number | string
  readonly mark: string
}
/** The last change. */
export const lastAccessChange = sql('smart.access-change-last', 'SELECT last, mark FROM smart_access_change_count')

export interface AccessChangeRow {
  /** All changes of one statement may have the same. */
  readonly number: number | string
  readonly mark: string
  /** `all`: whatever a token depends on may have changed. */
  readonly kind: DependencyKind | 'all'
  /** Bytes in hexadecimal. */
  readonly id: string
}
/** The changes from a number on, the earliest first, as many as the second parameter says. */
export const listAccessChanges = sql(
  'smart.access-changes',
  'SELECT number, mark, kind, id FROM smart_access_change WHERE number >= ? ORDER BY number LIMIT ?',
)
/** Removes all but the latest changes: the parameter says how many numbers are kept. */
export const pruneAccessChanges = sql(
  'smart.access-change-prune',
  'DELETE FROM smart_access_change WHERE number <= (SELECT last FROM smart_access_change_count) - ?',
)
