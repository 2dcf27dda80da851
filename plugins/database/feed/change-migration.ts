/**
 * The tables of the feed of changes, where servers share a database: a row for each commit that publishes something, and
 * a row for each server that follows them. Columns `at` are shown to operators; nothing is decided by them.
 */
const tables: readonly string[] = [
  'CREATE TABLE cluster_change (seq bigint PRIMARY KEY, epoch bigint NOT NULL, body bytea NOT NULL)',
  'CREATE TABLE cluster_member (server text PRIMARY KEY, role text NOT NULL, host text NOT NULL, pid integer NOT NULL, build text NOT NULL, beat bigint NOT NULL, epoch bigint NOT NULL, seq bigint NOT NULL, at timestamptz NOT NULL) WITH (fillfactor = 10)',
  'ALTER TABLE cluster_lease ADD COLUMN durable bigint NOT NULL DEFAULT 0',
  'ALTER TABLE cluster_lease ADD COLUMN at timestamptz',
]

export const changeMigration = { name: 'database/0004-change', sql: { sqlite: [], postgres: tables } }
