/**
 * The tables of logins: sessions, pending requests, launches, grants and codes. Ids that give access are stored as
 * SHA-256, and what only the browser may reveal is encrypted with a cookie of that browser. Times are milliseconds since
 * the epoch.
 */
import type { SchemaChange } from '../../kernel/index.ts'
import { sql } from '../database/service.ts'

const tables = (bytes: string): readonly string[] => [
  // sealed_name: what pages call the person, encrypted with the session cookie.
  `CREATE TABLE oauth_session (id_hash ${bytes} PRIMARY KEY, person text NOT NULL, sealed_name ${bytes}, expires_at bigint NOT NULL)`,
  'CREATE INDEX oauth_session_expiry ON oauth_session (expires_at)',
  // step: the form that is waited for. sealed_memory: what the provider's login needs again, encrypted with the cookie.
  `CREATE TABLE oauth_request (id_hash ${bytes} PRIMARY KEY, cookie_hash ${bytes} NOT NULL, client_id varchar(64) NOT NULL, params text NOT NULL, step varchar(16) NOT NULL, session_hash ${bytes}, chosen text NOT NULL, provider_state ${bytes}, sealed_memory ${bytes}, expires_at bigint NOT NULL)`,
  'CREATE UNIQUE INDEX oauth_request_state ON oauth_request (provider_state) WHERE provider_state IS NOT NULL',
  'CREATE INDEX oauth_request_expiry ON oauth_request (expires_at)',
  // client_id: the only client that may use it; null for any.
  `CREATE TABLE oauth_launch (id_hash ${bytes} PRIMARY KEY, client_id varchar(64), context text NOT NULL, expires_at bigint NOT NULL)`,
  'CREATE INDEX oauth_launch_expiry ON oauth_launch (expires_at)',
  // session_hash: the session that refreshing depends on; null for offline access.
  `CREATE TABLE oauth_grant (id ${bytes} PRIMARY KEY, client_id varchar(64) NOT NULL, person text NOT NULL, scope text NOT NULL, context text NOT NULL, nonce text, wants_auth_time smallint NOT NULL, session_hash ${bytes}, expires_at bigint NOT NULL, revoked_at bigint)`,
  'CREATE INDEX oauth_grant_expiry ON oauth_grant (expires_at)',
  `CREATE TABLE oauth_code (id_hash ${bytes} PRIMARY KEY, grant_id ${bytes} NOT NULL, client_id varchar(64) NOT NULL, redirect_uri text NOT NULL, challenge varchar(43) NOT NULL, expires_at bigint NOT NULL, consumed_at bigint)`,
  'CREATE INDEX oauth_code_expiry ON oauth_code (expires_at)',
]

export const loginMigration: SchemaChange = {
  name: 'smart/0002-logins',
  sql: { sqlite: tables('blob'), postgres: tables('bytea') },
}

export interface SessionRow {
  readonly id_hash: Uint8Array
  /** JSON of `Person`, see people/person.ts. */
  readonly person: string
  readonly sealed_name: Uint8Array | null
  readonly expires_at: number
}

const SESSION = 'id_hash, person, sealed_name, expires_at'
export const findSession = sql('smart.session', `SELECT ${SESSION} FROM oauth_session WHERE id_hash = ?`)
export const insertSession = sql('smart.session-insert', `INSERT INTO oauth_session (${SESSION}) VALUES (?, ?, ?, ?)`)
export const deleteSession = sql(
  'smart.session-delete',
  'DELETE FROM oauth_session WHERE id_hash = ? RETURNING expires_at',
)

export type Step = 'login' | 'patient' | 'encounter' | 'consent'

export interface RequestRow {
  readonly id_hash: Uint8Array
  readonly cookie_hash: Uint8Array
  readonly client_id: string
  /** JSON of `RequestParams`, see interaction/pending-request.ts. */
  readonly params: string
  readonly step: Step
  readonly session_hash: Uint8Array | null
  /** JSON of `LaunchContext`: what has been chosen so far. */
  readonly chosen: string
  readonly sealed_memory: Uint8Array | null
  readonly expires_at: number
}

const REQUEST = 'id_hash, cookie_hash, client_id, params, step, session_hash, chosen, expires_at'
export const findRequest = sql('smart.request', `SELECT ${REQUEST}, sealed_memory FROM oauth_request WHERE id_hash = ?`)
export const findRequestByState = sql(
  'smart.request-by-state',
  `SELECT ${REQUEST}, sealed_memory FROM oauth_request WHERE provider_state = ?`,
)
export const insertRequest = sql(
  'smart.request-insert',
  `INSERT INTO oauth_request (${REQUEST}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
)
const DECISION_MS = 300_000 // for the person to choose and decide, once logged in
/**
 * Goes on to another step, if the given one is still waited for. Returns no row when it is not. Behind the login there
 * are five more minutes.
 */
export const advanceRequest = sql(
  'smart.request-advance',
  `UPDATE oauth_request SET step = ?, session_hash = ?, chosen = ?, provider_state = NULL, sealed_memory = NULL, expires_at = CASE WHEN step = 'login' THEN expires_at + ${DECISION_MS} ELSE expires_at END WHERE id_hash = ? AND step = ? RETURNING step`,
)
/**
 * Removes the oldest requests without a person, so that at most the given numbers are left, of each client and in all.
 */
export const boundRequests = sql(
  'smart.request-bound',
  'DELETE FROM oauth_request WHERE session_hash IS NULL AND id_hash IN (SELECT id_hash FROM (SELECT id_hash, row_number() OVER (PARTITION BY client_id ORDER BY expires_at DESC) AS of_client, row_number() OVER (ORDER BY expires_at DESC) AS of_all FROM oauth_request WHERE session_hash IS NULL) ranked WHERE of_client > ? OR of_all > ?)',
)
/** Remembers a login at the provider; a new one replaces the one before. */
export const startProviderLogin = sql(
  'smart.request-provider',
  "UPDATE oauth_request SET provider_state = ?, sealed_memory = ? WHERE id_hash = ? AND step = 'login' RETURNING step",
)
/** Takes the `state` of a login at the provider: it can be used once. */
export const takeProviderState = sql(
  'smart.request-state',
  'UPDATE oauth_request SET provider_state = NULL WHERE id_hash = ? AND provider_state = ? RETURNING step',
)
/** Ends a request whose given step is waited for. Returns no row when it was ended or went on before. */
export const deleteRequest = sql(
  'smart.request-delete',
  'DELETE FROM oauth_request WHERE id_hash = ? AND step = ? RETURNING step',
)

export interface LaunchRow {
  readonly client_id: string | null
  readonly context: string
  readonly expires_at: number
}

export const insertLaunch = sql(
  'smart.launch-insert',
  'INSERT INTO oauth_launch (id_hash, client_id, context, expires_at) VALUES (?, ?, ?, ?)',
)
/** Takes a launch value: it can be used once, by its client, and not later than the given time. */
export const takeLaunch = sql(
  'smart.launch-take',
  'DELETE FROM oauth_launch WHERE id_hash = ? AND (client_id IS NULL OR client_id = ?) AND expires_at > ? RETURNING context',
)

export interface GrantRow {
  readonly person: string
  readonly scope: string
  readonly context: string
  readonly nonce: string | null
  readonly wants_auth_time: number
}

export const insertGrant = sql(
  'smart.grant-insert',
  'INSERT INTO oauth_grant (id, client_id, person, scope, context, nonce, wants_auth_time, session_hash, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
)
export const revokeGrant = sql(
  'smart.grant-revoke',
  'UPDATE oauth_grant SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL',
)

/** Whether a grant may still be used: of a row that a grant and its session are joined to. */
export interface GrantState {
  /** Null for a token without a grant: that of a client which acts for itself. */
  readonly grant_id: Uint8Array | null
  /** Null when the grant was removed. */
  readonly grant_expires_at: number | null
  readonly revoked_at: number | null
  readonly session_hash: Uint8Array | null
  /** Null when the session has ended. */
  readonly session_expires_at: number | null
}

/** Columns of `GrantState` but `grant_id`, of the joins below. */
export const GRANT_STATE =
  'g.expires_at AS grant_expires_at, g.revoked_at, g.session_hash, s.expires_at AS session_expires_at'
export const grantJoins = (of: string): string =>
  `LEFT JOIN oauth_grant g ON g.id = ${of}.grant_id LEFT JOIN oauth_session s ON s.id_hash = g.session_hash`

const GRANT = 'g.person, g.scope, g.context, g.nonce, g.wants_auth_time'

export interface CodeRow extends GrantRow, GrantState {
  readonly grant_id: Uint8Array
  readonly client_id: string
  readonly redirect_uri: string
  readonly challenge: string
  readonly expires_at: number
  readonly consumed_at: number | null
}

export const insertCode = sql(
  'smart.code-insert',
  'INSERT INTO oauth_code (id_hash, grant_id, client_id, redirect_uri, challenge, expires_at) VALUES (?, ?, ?, ?, ?, ?)',
)
export const findCode = sql(
  'smart.code',
  `SELECT c.grant_id, c.client_id, c.redirect_uri, c.challenge, c.expires_at, c.consumed_at, ${GRANT}, ${GRANT_STATE} FROM oauth_code c ${grantJoins('c')} WHERE c.id_hash = ?`,
)
/** Returns no row when the code was used before. */
export const consumeCode = sql(
  'smart.code-consume',
  'UPDATE oauth_code SET consumed_at = ? WHERE id_hash = ? AND consumed_at IS NULL RETURNING grant_id',
)

export interface RefreshRow extends GrantRow, GrantState {
  readonly grant_id: Uint8Array
  readonly client_id: string
  readonly expires_at: number
  /** By the clock of the database, as `read_at`, the time of the query. */
  readonly consumed_at: number | null
  readonly read_at: number
}

const REFRESH = 2 // kind in oauth_token

/** The time of the database, which servers have in common, in milliseconds since the epoch. */
const databaseTime = {
  sqlite: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
  postgres: 'CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)',
}
const withDatabaseTime = (name: string, textOf: (now: string) => string) =>
  sql(name, { sqlite: textOf(databaseTime.sqlite), postgres: textOf(databaseTime.postgres) })

export const insertRefresh = sql(
  'smart.refresh-insert',
  `INSERT INTO oauth_token (id_hash, kind, grant_id, client_id, scope, iat, expires_at) VALUES (?, ${REFRESH}, ?, ?, '', ?, ?)`,
)
export const findRefresh = withDatabaseTime(
  'smart.refresh',
  (now) =>
    `SELECT t.grant_id, t.client_id, t.expires_at, t.consumed_at, ${now} AS read_at, ${GRANT}, ${GRANT_STATE} FROM oauth_token t ${grantJoins('t')} WHERE t.id_hash = ? AND t.kind = ${REFRESH}`,
)
/** Returns no row when the token was used before. */
export const consumeRefresh = withDatabaseTime(
  'smart.refresh-consume',
  (now) =>
    `UPDATE oauth_token SET consumed_at = ${now} WHERE id_hash = ? AND kind = ${REFRESH} AND consumed_at IS NULL RETURNING grant_id`,
)

/** Deletes the rows that expired before the given time. */
const pruneOf = (table: string) => sql(`smart.prune-${table}`, `DELETE FROM ${table} WHERE expires_at < ?`)
/** Of no use once they have expired. */
export const pruneLogins = ['oauth_session', 'oauth_request', 'oauth_launch'].map(pruneOf)
/** Looked up for a while after they have expired. */
export const pruneGrants = ['oauth_code', 'oauth_grant'].map(pruneOf)
