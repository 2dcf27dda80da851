/**
 * `audit_event`: events in an order without gaps, as narrow rows with one event each or as batches; `audit_head`: one
 * row that says where the chain ends and up to where it was pruned; `audit_block`: keys by which the rows of a range
 * are found. Rows and blocks are only appended: an index over ids or times would be updated in random places with every
 * event.
 */
import type { SchemaChange } from '../../kernel/index.ts'
import { sql } from '../database/service.ts'

const event = (seq: string, bytes: string): string =>
  `CREATE TABLE audit_event (seq ${seq} PRIMARY KEY, at bigint NOT NULL, kind smallint NOT NULL, status smallint NOT NULL, type text, id ${bytes}, ver integer, patient ${bytes}, client text, person text, token text, address text, request ${bytes}, operation text, query text, number bigint, proof ${bytes}, mac ${bytes} NOT NULL)`
const head = (bytes: string): string =>
  `CREATE TABLE audit_head (one smallint PRIMARY KEY, chain ${bytes} NOT NULL, seq bigint NOT NULL, mac ${bytes} NOT NULL, count bigint NOT NULL, key ${bytes} NOT NULL, seal ${bytes} NOT NULL, pruned_seq bigint NOT NULL, pruned_mac ${bytes} NOT NULL, pruned_count bigint NOT NULL, pruned_key ${bytes} NOT NULL, pruned_seal ${bytes} NOT NULL)`
const block = (seq: string, bytes: string): string =>
  `CREATE TABLE audit_block (first_seq ${seq} PRIMARY KEY, last_seq bigint NOT NULL, min_at bigint NOT NULL, max_at bigint NOT NULL, filter ${bytes} NOT NULL)`

const inbox = (bytes: string): string =>
  `CREATE TABLE audit_inbox (server text NOT NULL, n bigint NOT NULL, key ${bytes} NOT NULL, body ${bytes}, seal ${bytes} NOT NULL, seen_at bigint, PRIMARY KEY (server, n))`

export const auditMigrations: readonly SchemaChange[] = [
  {
    name: 'audit/0001-trail',
    sql: {
      sqlite: [event('integer', 'blob'), head('blob'), block('integer', 'blob')],
      postgres: [event('bigint', 'bytea'), head('bytea'), block('bigint', 'bytea')],
    },
  },
  {
    name: 'audit/0002-packs',
    sql: {
      sqlite: ['ALTER TABLE audit_event ADD COLUMN pack blob'],
      postgres: ['ALTER TABLE audit_event ADD COLUMN pack bytea'],
    },
  },
  { name: 'audit/0003-inbox', sql: { sqlite: [inbox('blob')], postgres: [inbox('bytea')] } },
]

/** A row of `audit_event`. */
export interface Row {
  readonly seq: number
  readonly at: number
  readonly kind: number
  readonly status: number
  readonly type: string | null
  /** Encoded as in id.ts; so are `patient` and `request`. */
  readonly id: Uint8Array | null
  readonly ver: number | null
  readonly patient: Uint8Array | null
  readonly client: string | null
  readonly person: string | null
  readonly token: string | null
  readonly address: string | null
  readonly request: Uint8Array | null
  readonly operation: string | null
  readonly query: string | null
  readonly number: number | null
  readonly proof: Uint8Array | null
  /** Several events, see batch.ts. */
  readonly pack: Uint8Array | null
  readonly mac: Uint8Array
}

export interface HeadRow {
  /** Random id of this audit trail: another one with the same key has a different id. */
  readonly chain: Uint8Array
  readonly seq: number
  readonly mac: Uint8Array
  /** Number of rows since the beginning, pruned ones included. */
  readonly count: number
  /** Id of the current key. */
  readonly key: Uint8Array
  readonly seal: Uint8Array
  readonly pruned_seq: number
  readonly pruned_mac: Uint8Array
  readonly pruned_count: number
  /** Id of the key that sealed the first row after the pruned ones. */
  readonly pruned_key: Uint8Array
  readonly pruned_seal: Uint8Array
}

export const COLUMNS = [
  'seq',
  'at',
  'kind',
  'status',
  'type',
  'id',
  'ver',
  'patient',
  'client',
  'person',
  'token',
  'address',
  'request',
  'operation',
  'query',
  'number',
  'proof',
  'pack',
  'mac',
] as const satisfies readonly (keyof Row)[]

const HEAD = 'chain, seq, mac, count, key, seal, pruned_seq, pruned_mac, pruned_count, pruned_key, pruned_seal'

export const readHead = sql('audit.head', `SELECT ${HEAD} FROM audit_head WHERE one = 1`)
/** Tests whether the head still has this chain, seq, mac, count, key and seal. */
export const findHead = sql(
  'audit.head-find',
  'SELECT 1 AS found FROM audit_head WHERE one = 1 AND chain = ? AND seq = ? AND mac = ? AND count = ? AND key = ? AND seal = ?',
)
/** Locks the head until COMMIT, so that no other server appends. SQLite has only one writer. */
export const lockHead = sql('audit.head-lock', {
  sqlite: `SELECT ${HEAD} FROM audit_head WHERE one = 1`,
  postgres: `SELECT ${HEAD} FROM audit_head WHERE one = 1 FOR UPDATE`,
})
/** The newest row. */
export const readLast = sql('audit.last', `SELECT ${COLUMNS.join(', ')} FROM audit_event ORDER BY seq DESC LIMIT 1`)
/** Tests whether the row with this number has this mac. */
export const findEvent = sql('audit.event-find', 'SELECT 1 AS found FROM audit_event WHERE seq = ? AND mac = ?')
/** The head, and the newest number in the table at the same moment. */
export const readHeadAndLast = sql(
  'audit.head-last',
  `SELECT ${HEAD}, (SELECT max(seq) FROM audit_event) AS last FROM audit_head WHERE one = 1`,
)
export const insertHead = sql(
  'audit.head-insert',
  `INSERT INTO audit_head (one, ${HEAD}) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
)
const UPDATE_HEAD = 'UPDATE audit_head SET seq = ?, mac = ?, count = ?, key = ?, seal = ? WHERE one = 1 AND seq = ?'
/**
 * Moves the head on from the number it had. Where another server has moved it meanwhile, the statement inserts the head
 * a second time, which violates its primary key: so two servers cannot append after the same event, whatever the
 * numbers of their rows.
 */
export const updateHead = sql('audit.head-update', {
  sqlite: UPDATE_HEAD,
  postgres: `WITH moved AS (${UPDATE_HEAD} RETURNING one) INSERT INTO audit_head SELECT * FROM audit_head WHERE one = 1 AND NOT EXISTS (SELECT 1 FROM moved)`,
})
/** Writes without changing a value, so that the transaction has a COMMIT to wait for. */
export const updateHeadTime = sql('audit.head-touch', 'UPDATE audit_head SET one = one WHERE one = 1')
export const updatePrunedUntil = sql(
  'audit.head-pruned',
  'UPDATE audit_head SET pruned_seq = ?, pruned_mac = ?, pruned_count = ?, pruned_key = ?, pruned_seal = ? WHERE one = 1',
)
export const readRows = sql(
  'audit.rows',
  `SELECT ${COLUMNS.join(', ')} FROM audit_event WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`,
)
export const readFirst = sql('audit.first', 'SELECT min(seq) AS seq FROM audit_event')
export const deleteRows = sql('audit.delete', 'DELETE FROM audit_event WHERE seq > ? AND seq <= ?')
/** Number of the newest row that begins before an event. */
export const readNewestEvents = sql('audit.newest', 'SELECT max(seq) AS seq FROM audit_event WHERE seq < ?')

export const insertBlock = sql(
  'audit.block-insert',
  'INSERT INTO audit_block (first_seq, last_seq, min_at, max_at, filter) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
)
export const readBlockFirsts = sql(
  'audit.block-firsts',
  'SELECT first_seq FROM audit_block WHERE first_seq >= ? AND first_seq < ?',
)
/** Leaves the filter out for blocks outside the time range, which need none to be skipped. */
export const readBlocks = sql(
  'audit.blocks',
  'SELECT first_seq, last_seq, min_at, max_at, CASE WHEN max_at >= ? AND min_at < ? THEN filter END AS filter FROM audit_block WHERE first_seq >= ? AND first_seq <= ?',
)
export const deleteBlocks = sql('audit.block-delete', 'DELETE FROM audit_block WHERE last_seq <= ?')
