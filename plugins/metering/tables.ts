/** The table of usage: one row for each client, UTC day and class, to which all servers add. */
import type { SchemaChange } from '../../kernel/index.ts'
import { sql } from '../database/service.ts'

export const meteringMigrations: readonly SchemaChange[] = [
  {
    name: 'metering/0001-usage',
    sql: [
      // Text, so that people can read it; an empty client stands for callers without a token.
      'CREATE TABLE metering_usage (client text NOT NULL, day varchar(10) NOT NULL, class varchar(16) NOT NULL, requests bigint NOT NULL, bytes_in bigint NOT NULL, bytes_out bigint NOT NULL, PRIMARY KEY (day, client, class))',
    ],
  },
]

export interface UsageRow {
  readonly client: string
  /** `2026-11-21` */
  readonly day: string
  readonly class: string
  readonly requests: number
  readonly bytes_in: number
  readonly bytes_out: number
}

export const addUsage = sql(
  'metering.add',
  'INSERT INTO metering_usage (client, day, class, requests, bytes_in, bytes_out) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (day, client, class) DO UPDATE SET requests = metering_usage.requests + excluded.requests, bytes_in = metering_usage.bytes_in + excluded.bytes_in, bytes_out = metering_usage.bytes_out + excluded.bytes_out',
)
