/**
 * The tables of the authorization server. Tokens and identifiers of assertions are stored as SHA-256, so that a copy of
 * the tables gives nobody access. Times are milliseconds since the epoch.
 */
import type { SchemaChange } from '../../kernel/index.ts'
import { sql } from '../database/service.ts'
import { GRANT_STATE, type GrantState, grantJoins, loginMigration } from './login-tables.ts'
import { accessChangeMigration } from './tokens/access-change-tables.ts'

const tables = (bytes: string): readonly string[] => [
  // state: next, active or retired.
  `CREATE TABLE smart_key (kid varchar(64) PRIMARY KEY, alg varchar(8) NOT NULL, sealed ${bytes} NOT NULL, state varchar(8) NOT NULL, created_at bigint NOT NULL, retire_at bigint)`,
  // At most one key is active, and at most one is next.
  "CREATE UNIQUE INDEX smart_key_state ON smart_key (state) WHERE state <> 'retired'",
  `CREATE TABLE oauth_client (client_id varchar(64) PRIMARY KEY, metadata text NOT NULL, secret_hash ${bytes}, scope text, created_at bigint NOT NULL, disabled_at bigint)`,
  // kind: 1 access, 2 refresh.
  `CREATE TABLE oauth_token (id_hash ${bytes} PRIMARY KEY, kind smallint NOT NULL, grant_id ${bytes}, client_id varchar(64) NOT NULL, scope text NOT NULL, iat bigint NOT NULL, expires_at bigint NOT NULL, consumed_at bigint)`,
  'CREATE INDEX oauth_token_grant ON oauth_token (grant_id) WHERE grant_id IS NOT NULL',
  'CREATE INDEX oauth_token_expiry ON oauth_token (expires_at)',
  `CREATE TABLE oauth_jti (id_hash ${bytes} PRIMARY KEY, expires_at bigint NOT NULL)`,
  'CREATE INDEX oauth_jti_expiry ON oauth_jti (expires_at)',
  // Changes made by commands that are not in the audit trail yet.
  'CREATE TABLE smart_untold (id varchar(64) PRIMARY KEY, operation varchar(32) NOT NULL, client varchar(64))',
]

export const smartMigrations: readonly SchemaChange[] = [
  { name: 'smart/0001-tokens', sql: { sqlite: tables('blob'), postgres: tables('bytea') } },
  loginMigration,
  accessChangeMigration,
]

export type KeyState = 'next' | 'active' | 'retired'

export interface KeyRow {
  readonly kid: string
  readonly alg: string
  readonly sealed: Uint8Array
  readonly state: KeyState
  readonly created_at: number
  /** When a retired key stops being published; null for others. */
  readonly retire_at: number | null
}

const KEY = 'kid, alg, sealed, state, created_at, retire_at'
export const listKeys = sql('smart.keys', `SELECT ${KEY} FROM smart_key ORDER BY created_at, kid`)
export const insertKey = sql('smart.key-insert', `INSERT INTO smart_key (${KEY}) VALUES (?, ?, ?, ?, ?, NULL)`)
export const changeKeyState = sql('smart.key-state', 'UPDATE smart_key SET state = ?, retire_at = ? WHERE kid = ?')
/** Stores the same key encrypted anew. */
export const resealKey = sql('smart.key-reseal', 'UPDATE smart_key SET sealed = ? WHERE kid = ?')
export const deleteRetiredKeys = sql(
  'smart.key-prune',
  "DELETE FROM smart_key WHERE state = 'retired' AND retire_at <= ?",
)

export interface ClientRow {
  readonly client_id: string
  /** JSON of `ClientMetadata`, see client.ts. */
  readonly metadata: string
  readonly secret_hash: Uint8Array | null
  readonly scope: string | null
  readonly created_at: number
  readonly disabled_at: number | null
}

const CLIENT = 'client_id, metadata, secret_hash, scope, created_at, disabled_at'
export const findClient = sql('smart.client', `SELECT ${CLIENT} FROM oauth_client WHERE client_id = ?`)
export const listClients = sql('smart.clients', `SELECT ${CLIENT} FROM oauth_client ORDER BY created_at, client_id`)
/** One of the two numbers changes when a client is added or disabled. */
export interface ClientsSeen {
  readonly clients: number | string
  readonly disabled: number | string
}
export const clientsSeen = sql(
  'smart.clients-seen',
  'SELECT COUNT(*) AS clients, COUNT(disabled_at) AS disabled FROM oauth_client',
)
export const insertClient = sql('smart.client-insert', `INSERT INTO oauth_client (${CLIENT}) VALUES (?, ?, ?, ?, ?, ?)`)
export const disableClient = sql(
  'smart.client-disable',
  'UPDATE oauth_client SET disabled_at = ? WHERE client_id = ? AND disabled_at IS NULL',
)

export const ACCESS = 1

export interface TokenRow extends GrantState {
  readonly client_id: string
  readonly scope: string
  readonly iat: number
  readonly expires_at: number
  /** 0 for an active client; when it was disabled, for a disabled one; null when the table has no such client. */
  readonly disabled_at: number | null
  /** JSON of the person and of the launch context of the grant; null without a grant. */
  readonly person: string | null
  readonly context: string | null
}

/** An access token, with the state of its client, grant and session. */
export const findToken = sql(
  'smart.token',
  `SELECT t.client_id, t.scope, t.iat, t.expires_at, CASE WHEN c.client_id IS NOT NULL THEN coalesce(c.disabled_at, 0) END AS disabled_at, t.grant_id, g.person, g.context, ${GRANT_STATE} FROM oauth_token t LEFT JOIN oauth_client c ON c.client_id = t.client_id ${grantJoins('t')} WHERE t.id_hash = ? AND t.kind = ${ACCESS} AND t.consumed_at IS NULL`,
)
export const insertToken = sql(
  'smart.token-insert',
  'INSERT INTO oauth_token (id_hash, kind, grant_id, client_id, scope, iat, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
)
export const deleteToken = sql('smart.token-delete', 'DELETE FROM oauth_token WHERE id_hash = ? AND client_id = ?')
export const pruneTokens = sql('smart.token-prune', 'DELETE FROM oauth_token WHERE expires_at < ?')

/** Returns no row when the identifier was used before. */
export const insertJti = sql(
  'smart.jti-insert',
  'INSERT INTO oauth_jti (id_hash, expires_at) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING expires_at',
)
export const pruneJtis = sql('smart.jti-prune', 'DELETE FROM oauth_jti WHERE expires_at < ?')

export interface PendingAuditEventRow {
  readonly operation: string
  readonly client: string | null
}

export const insertPendingAuditEvent = sql(
  'smart.audit-event-insert',
  'INSERT INTO smart_untold (id, operation, client) VALUES (?, ?, ?)',
)
export const findPendingAuditEvent = sql('smart.audit-event', 'SELECT 1 AS found FROM smart_untold LIMIT 1')
export const takePendingAuditEvents = sql(
  'smart.audit-event-take',
  'DELETE FROM smart_untold RETURNING operation, client',
)
