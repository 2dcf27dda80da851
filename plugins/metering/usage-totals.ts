/** Sums of usage over all classes of request: by day, and by client. */
import { type Database, type SqlParam, sql } from '../database/service.ts'

export interface UsageSum {
  readonly requests: number
  readonly bytesIn: number
  readonly bytesOut: number
}

export interface UsageRange {
  /** First and last day, `2026-11-21`, in UTC. */
  readonly from: string
  readonly to: string
  /** Of one client only; empty: the callers without a token. */
  readonly client?: string | undefined
  /** Most clients that are listed. */
  readonly most: number
}

/** Days that have usage, in order, and the clients with the most requests in these days. */
export type UsageTotals = (
  range: UsageRange,
  signal: AbortSignal,
) => Promise<{
  readonly days: readonly (UsageSum & { readonly day: string })[]
  readonly clients: readonly (UsageSum & { readonly client: string })[]
}>

interface Row {
  readonly name: string
  readonly requests: number
  readonly bytes_in: number
  readonly bytes_out: number
}

const sums = (name: string): string =>
  `SELECT ${name} AS name, CAST(sum(requests) AS bigint) AS requests, CAST(sum(bytes_in) AS bigint) AS bytes_in, CAST(sum(bytes_out) AS bigint) AS bytes_out FROM metering_usage WHERE day >= ? AND day <= ? AND (CAST(? AS text) IS NULL OR client = ?) GROUP BY ${name}`
const sumDays = sql('metering.days', `${sums('day')} ORDER BY 1`)
const sumClients = sql('metering.clients', `${sums('client')} ORDER BY 2 DESC, 1 LIMIT ?`)

const sumOf = ({ requests, bytes_in, bytes_out }: Row): UsageSum => ({
  requests: Number(requests),
  bytesIn: Number(bytes_in),
  bytesOut: Number(bytes_out),
})

export const createUsageTotals =
  (database: Database): UsageTotals =>
  async ({ from, to, client = null, most }, signal) => {
    const params: readonly SqlParam[] = [from, to, client, client]
    const days = await database.longQuery<Row>(sumDays, params, signal)
    const clients = await database.longQuery<Row>(sumClients, [...params, most], signal)
    return {
      days: days.map((row) => ({ day: row.name, ...sumOf(row) })),
      clients: clients.map((row) => ({ client: row.name, ...sumOf(row) })),
    }
  }
