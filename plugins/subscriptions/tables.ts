/**
 * The tables of Subscriptions. `subscription_change` queues versions that were not compared with Subscriptions yet, and
 * `subscription_event` notifications that are to be sent. Times are milliseconds since the epoch, 0 where there is none.
 */
import type { SchemaChange } from '../../kernel/index.ts'
import { sql } from '../database/service.ts'

export const subscriptionMigrations: readonly SchemaChange[] = [
  {
    name: 'subscriptions/0001-queue',
    sql: [
      // `version` is that of the Subscription. `since`: changes up to this number are older than the Subscription.
      // `events` and `delivered` are the numbers of the last event and of the last one that was sent.
      'CREATE TABLE subscription_state (id varchar(64) PRIMARY KEY, version integer NOT NULL, status varchar(16) NOT NULL, channel varchar(16) NOT NULL, type varchar(64) NOT NULL, caller text NOT NULL, restrictions text NOT NULL, since bigint NOT NULL, events bigint NOT NULL, delivered bigint NOT NULL, failing bigint NOT NULL, ends bigint NOT NULL)',
      'CREATE TABLE subscription_mark (id integer PRIMARY KEY, seq bigint NOT NULL)',
      'INSERT INTO subscription_mark (id, seq) VALUES (1, 0)',
      'CREATE TABLE subscription_change (seq bigint PRIMARY KEY, type varchar(64) NOT NULL, id varchar(64) NOT NULL, version integer NOT NULL)',
      'CREATE TABLE subscription_event (subscription varchar(64) NOT NULL, number bigint NOT NULL, type varchar(64) NOT NULL, id varchar(64) NOT NULL, version integer NOT NULL, PRIMARY KEY (subscription, number))',
    ],
  },
]

export type SubscriptionChannel = 'rest-hook' | 'websocket'
/** `gone`: the Subscription was deleted. Its row stays, so that no number is used twice when it is created again. */
export type State = 'requested' | 'active' | 'error' | 'off' | 'gone'

export interface StateRow {
  readonly id: string
  readonly version: number
  readonly status: State
  readonly channel: SubscriptionChannel
  readonly type: string
  /** JSON of the Caller who has requested it, without its token. */
  readonly caller: string
  /** JSON of the restrictions of that request. */
  readonly restrictions: string
  readonly since: number
  readonly events: number
  readonly delivered: number
  readonly failing: number
  readonly ends: number
}
const COLUMNS = 'id, version, status, channel, type, caller, restrictions, since, events, delivered, failing, ends'

export const readState = sql('subscriptions.state', `SELECT ${COLUMNS} FROM subscription_state WHERE id = ?`)
export const readRunning = sql(
  'subscriptions.running',
  `SELECT ${COLUMNS} FROM subscription_state WHERE status IN ('requested', 'active') ORDER BY id`,
)
export const countRunning = sql(
  'subscriptions.count',
  "SELECT count(*) AS n FROM subscription_state WHERE status IN ('requested', 'active')",
)
export const readWatched = sql(
  'subscriptions.watched',
  "SELECT DISTINCT type FROM subscription_state WHERE status = 'active'",
)
/** A request replaces everything but the numbers. */
export const putRequest = sql(
  'subscriptions.request',
  `INSERT INTO subscription_state (${COLUMNS}) VALUES (?, ?, 'requested', ?, ?, ?, ?, 0, 0, 0, 0, ?)
   ON CONFLICT (id) DO UPDATE SET version = excluded.version, status = 'requested', channel = excluded.channel, type = excluded.type, caller = excluded.caller, restrictions = excluded.restrictions, delivered = subscription_state.events, failing = 0, ends = excluded.ends`,
)
export const activate = sql(
  'subscriptions.activate',
  "UPDATE subscription_state SET version = ?, status = 'active', since = (SELECT seq FROM subscription_mark WHERE id = 1), failing = 0 WHERE id = ?",
)
/** Ends it, and deletes caller and restrictions. */
export const endState = sql(
  'subscriptions.end',
  "UPDATE subscription_state SET version = ?, status = ?, delivered = events, caller = '', restrictions = '', failing = 0, ends = 0 WHERE id = ?",
)
/** The same where the row is not that of the current version. */
export const endStale = sql(
  'subscriptions.end-stale',
  "UPDATE subscription_state SET status = 'off', delivered = events, caller = '', restrictions = '', failing = 0, ends = 0 WHERE id = ? AND version = ? RETURNING id",
)
export const deleteEvents = sql('subscriptions.delete-events', 'DELETE FROM subscription_event WHERE subscription = ?')

export const takeNumbers = sql(
  'subscriptions.mark',
  'UPDATE subscription_mark SET seq = seq + ? WHERE id = 1 RETURNING seq',
)
export const insertChange = sql(
  'subscriptions.change',
  'INSERT INTO subscription_change (seq, type, id, version) VALUES (?, ?, ?, ?)',
)
export const readChanges = sql(
  'subscriptions.changes',
  'SELECT seq, type, id, version FROM subscription_change ORDER BY seq LIMIT 200',
)
export const deleteChanges = sql('subscriptions.delete-changes', 'DELETE FROM subscription_change WHERE seq <= ?')

/** Takes so many numbers and returns the last one. No row where another version is current, or it is not active. */
export const takeEvents = sql(
  'subscriptions.take-events',
  "UPDATE subscription_state SET events = events + ? WHERE id = ? AND version = ? AND status = 'active' RETURNING events",
)
export const insertEvent = sql(
  'subscriptions.event',
  'INSERT INTO subscription_event (subscription, number, type, id, version) VALUES (?, ?, ?, ?, ?)',
)
export const readEvents = sql(
  'subscriptions.events',
  'SELECT number, type, id, version FROM subscription_event WHERE subscription = ? ORDER BY number LIMIT 50',
)
export const deleteEvent = sql(
  'subscriptions.delete-event',
  'DELETE FROM subscription_event WHERE subscription = ? AND number = ?',
)
export const setDelivered = sql(
  'subscriptions.delivered',
  'UPDATE subscription_state SET delivered = ?, failing = 0 WHERE id = ? AND version = ?',
)
export const setFailing = sql(
  'subscriptions.failing',
  'UPDATE subscription_state SET failing = ? WHERE id = ? AND version = ? AND failing = 0',
)

/** A queued version. */
export interface ChangeRow {
  readonly seq: number
  readonly type: string
  readonly id: string
  readonly version: number
}
export interface EventRow {
  readonly number: number
  readonly type: string
  readonly id: string
  readonly version: number
}
