/** Queries that may take long: each has a session to itself, and ends on the server when whoever asked goes away. */

import { type Sql, type SqlParam, sql } from '../contract.ts'
import { QueryCancelled } from '../errors.ts'
import type { Connector } from './client.ts'
import { fromPostgres } from './failure.ts'
import type { Pool } from './pool.ts'
import type { RunGroup } from './run-group.ts'

const CANCEL_MS = 2_000 // a cancelled statement that goes on after this loses its connection

const probe = sql('probe', 'SELECT 1 AS one')
// Planned for the values at hand, each time: a plan for any values is the wrong one for a rare code or a common one,
// and a slow query pays for its planning. Until the end of its group.
const plan = sql('plan', "SELECT set_config('plan_cache_mode', 'force_custom_plan', true)")

export interface LongQueryParts {
  readonly pool: Pool
  readonly connector: Connector
  readonly send: RunGroup
}

/** Rejects with QueryCancelled at once when `signal` aborts. */
export const createLongQuery =
  ({ pool, connector, send }: LongQueryParts) =>
  async (statement: Sql, params: readonly SqlParam[], signal?: AbortSignal): Promise<Record<string, unknown>[]> => {
    if (signal?.aborted) throw QueryCancelled()
    const lease = await pool.acquire({ signal, long: true }).catch((error) => {
      throw signal?.aborted ? QueryCancelled() : error
    })
    const { session } = lease
    const { promise: cancelled, reject: cancel } = Promise.withResolvers<never>()
    let cancelling: Promise<unknown> | undefined
    let late: NodeJS.Timeout | undefined
    const stop = (): void => {
      late = setTimeout(() => session.destroy(), CANCEL_MS)
      cancelling = connector.cancel(session).catch(() => session.destroy())
      cancel(QueryCancelled())
    }
    const run = async (): Promise<Record<string, unknown>[]> => {
      try {
        const results = await send(session, [
          { statement: plan, params: [] },
          { statement, params },
        ])
        return results.at(-1)!.rows
      } finally {
        signal?.removeEventListener('abort', stop)
        if (cancelling !== undefined) {
          // The request to cancel may come late and would hit whoever has the session next: this takes the blow.
          await cancelling
          await send(session, [{ statement: probe, params: [] }]).catch(() => {})
          clearTimeout(late)
        }
        lease.release()
      }
    }
    signal?.addEventListener('abort', stop)
    const running = run()
    running.catch(() => {}) // it ends alone when it was cancelled
    try {
      return await Promise.race([running, cancelled])
    } catch (error) {
      throw fromPostgres(error)
    }
  }
