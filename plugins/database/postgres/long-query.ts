/** Long queries: each has a session to itself, and is cancelled on the server when its signal aborts. */

import { type Sql, type SqlParam, sql } from '../contract.ts'
import { QueryCancelled } from '../errors.ts'
import type { Connector } from './client.ts'
import { fromPostgres } from './failure.ts'
import type { Pool } from './pool.ts'
import type { RunGroup } from './run-group.ts'

const CANCEL_MS = 2_000 // milliseconds; the connection of a cancelled statement is cut if it still runs after this

const probe = sql('probe', 'SELECT 1 AS one')
// Plans for the values at hand each time, until the end of its group: a generic plan is wrong for a code that is rare
// or very common, and planning costs little compared to a long query.
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
          // A late cancel request would hit the next user of the session; this statement takes it instead.
          await cancelling
          await send(session, [{ statement: probe, params: [] }]).catch(() => {})
          clearTimeout(late)
        }
        lease.release()
      }
    }
    signal?.addEventListener('abort', stop)
    const running = run()
    running.catch(() => {}) // after a cancellation nothing awaits it
    try {
      return await Promise.race([running, cancelled])
    } catch (error) {
      throw fromPostgres(error)
    }
  }
