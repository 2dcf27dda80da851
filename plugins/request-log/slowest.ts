/** The stored requests that took the longest. */
import { type Database, sql } from '../database/service.ts'
import type { RequestRow } from './tables.ts'

export interface SlowRequest {
  readonly id: string
  /** Milliseconds since the epoch, when it began. */
  readonly at: number
  readonly ms: number
  readonly method: string
  /** The address as it was declared; undefined for an address that no route has. */
  readonly route: string | undefined
  readonly requestClass: string
  readonly status: number
  readonly client: string | undefined
  /** FHIR reference of the user. */
  readonly user: string | undefined
}

export interface SlowestQuery {
  /** Requests that began at this time or later, in milliseconds since the epoch. */
  readonly from: number
  readonly client?: string | undefined
  readonly most: number
}

/** Slowest first. Reads the rows of the time in question. */
export type Slowest = (query: SlowestQuery, signal: AbortSignal) => Promise<readonly SlowRequest[]>

const select = sql(
  'request-log.slowest',
  'SELECT seq, time, request, method, route, class, status, micros, client, caller FROM request_log WHERE time >= ? AND request IS NOT NULL AND (CAST(? AS text) IS NULL OR client = ?) ORDER BY micros DESC, seq DESC LIMIT ?',
)

export const createSlowest =
  (database: Database): Slowest =>
  async ({ from, client = null, most }, signal) => {
    const rows = await database.longQuery<RequestRow>(select, [from, client, client, most], signal)
    return rows.map((row) => ({
      id: row.request ?? '',
      at: Number(row.time),
      ms: Number(row.micros) / 1000,
      method: row.method ?? '',
      route: row.route ?? undefined,
      requestClass: row.class ?? '',
      status: row.status,
      client: row.client ?? undefined,
      user: row.caller ?? undefined,
    }))
  }
