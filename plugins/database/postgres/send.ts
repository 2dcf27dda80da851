/** One group of statements on a session, answered within a time or not at all. */
import type { Connector } from './client.ts'
import type { Step, StepResult } from './exchange.ts'
import type { Pool } from './pool.ts'
import type { Session } from './session.ts'

/** Fails with PostgresError, or with ConnectionLost when the answer does not come in time: then the session is cut. */
export type Send = (session: Session, steps: readonly Step[], withinMs: number) => Promise<readonly StepResult[]>

export const createSender =
  (connector: Connector, pool: Pool): Send =>
  (session, steps, withinMs) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        // The server may still be at it, and hold locks; and what one session does not answer, idle ones will not.
        connector.cancel(session).catch(() => {})
        session.destroy()
        pool.flush()
      }, withinMs)
      session.exchanges.run([
        {
          steps,
          settle(results) {
            clearTimeout(timer)
            resolve(results)
          },
          fail(error) {
            clearTimeout(timer)
            reject(error)
          },
        },
      ])
    })
