/** The table of recent requests. It holds what a log line holds: nothing that a client wrote, except the request id. */
import type { SchemaChange } from '../../kernel/index.ts'
import { sql } from '../database/service.ts'

const table = (serial: string): string =>
  `CREATE TABLE request_log (seq ${serial} PRIMARY KEY, time bigint NOT NULL, request text, method text, route text, class text, status integer NOT NULL, bytes_in bigint NOT NULL, bytes_out bigint NOT NULL, micros bigint NOT NULL, client text, caller text, address text, counted integer NOT NULL)`
const indexes = [
  'CREATE INDEX request_log_time ON request_log (time)',
  'CREATE INDEX request_log_request ON request_log (request)',
]

export const requestLogMigrations: readonly SchemaChange[] = [
  {
    name: 'request-log/0001-requests',
    sql: {
      sqlite: [table('integer'), ...indexes],
      postgres: [table('bigint GENERATED ALWAYS AS IDENTITY'), ...indexes],
    },
  },
]

/** A stored request, or, with a null `request`, the number of requests of one second that were only counted. */
export interface RequestRow {
  readonly seq: number
  /** Milliseconds since the epoch, when the request began. */
  readonly time: number
  readonly request: string | null
  readonly method: string | null
  readonly route: string | null
  readonly class: string | null
  readonly status: number
  readonly bytes_in: number
  readonly bytes_out: number
  /** Duration in microseconds. */
  readonly micros: number
  readonly client: string | null
  /** FHIR reference of the user. */
  readonly caller: string | null
  readonly address: string | null
  /** 1, or in a summary the number of requests that it stands for. */
  readonly counted: number
}

export const insertRequest = sql(
  'request-log.insert',
  'INSERT INTO request_log (time, request, method, route, class, status, bytes_in, bytes_out, micros, client, caller, address, counted) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
)
export const pruneRequests = sql('request-log.prune', 'DELETE FROM request_log WHERE time < ?')
