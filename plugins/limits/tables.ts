/** The tables of the limits: the servers that share them, and the usage of quotas. */
import type { SchemaChange } from '../../kernel/index.ts'
import { sql } from '../database/service.ts'

export const limitsMigrations: readonly SchemaChange[] = [
  {
    name: 'limits/0001-shared',
    sql: [
      'CREATE TABLE limits_server (server varchar(64) PRIMARY KEY, beat bigint NOT NULL)',
      // A period is a UTC day, `2026-11-21`, or a month, `2026-11`.
      'CREATE TABLE limits_quota (holder text NOT NULL, period varchar(10) NOT NULL, requests bigint NOT NULL, writes bigint NOT NULL, bytes bigint NOT NULL, PRIMARY KEY (period, holder))',
    ],
  },
]

export interface ServerRow {
  readonly server: string
  readonly beat: number
}

export const heartbeat = sql(
  'limits.beat',
  'INSERT INTO limits_server (server, beat) VALUES (?, ?) ON CONFLICT (server) DO UPDATE SET beat = excluded.beat',
)
export const listServers = sql('limits.servers', 'SELECT server, beat FROM limits_server')
export const forgetServer = sql('limits.forget', 'DELETE FROM limits_server WHERE server = ? AND beat = ?')

export interface Totals {
  requests: number
  writes: number
  bytes: number
}

export const addQuota = sql(
  'limits.quota.add',
  'INSERT INTO limits_quota (holder, period, requests, writes, bytes) VALUES (?, ?, ?, ?, ?) ON CONFLICT (period, holder) DO UPDATE SET requests = limits_quota.requests + excluded.requests, writes = limits_quota.writes + excluded.writes, bytes = limits_quota.bytes + excluded.bytes RETURNING requests, writes, bytes',
)
export const readQuota = sql(
  'limits.quota.read',
  'SELECT requests, writes, bytes FROM limits_quota WHERE period = ? AND holder = ?',
)
export const pruneQuota = sql('limits.quota.prune', 'DELETE FROM limits_quota WHERE period < ?')
