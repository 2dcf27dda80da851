/**
 * One group of statements on a session. No answer for a while may mean a long statement, a connection that leads
 * nowhere, or a server that stands still: another session asks the server which, and only the first is waited for.
 */
import { sql } from '../service.ts'
import type { Connector } from './client.ts'
import type { Step, StepResult } from './exchange.ts'
import type { Pool } from './pool.ts'
import type { Session } from './session.ts'

const QUIET_MS = 3_500 // then it is asked for; with the asking, a lost server is noticed within five seconds
const ASK_MS = 1_000

const stateOf = sql('state', 'SELECT state FROM pg_stat_activity WHERE pid = ?')

/** Fails with PostgresError, or with ConnectionLost when the server is not at it any more: then the session is cut. */
export type Send = (session: Session, steps: readonly Step[]) => Promise<readonly StepResult[]>

export interface SenderOptions {
  readonly connector: Connector
  readonly pool: Pool
  readonly quietMs?: number
}

export const createSender = ({ connector, pool, quietMs = QUIET_MS }: SenderOptions): Send => {
  /** Whether the server works on what this session sent; false when nobody can say. */
  const isWorking = async (session: Session): Promise<boolean> => {
    const signal = AbortSignal.timeout(ASK_MS)
    try {
      const loan = await pool.acquire({ signal })
      const cut = (): void => loan.session.destroy()
      signal.addEventListener('abort', cut)
      try {
        const [result] = await run(loan.session, [{ statement: stateOf, params: [session.backend.processID] }])
        return result?.rows[0]?.state === 'active'
      } finally {
        signal.removeEventListener('abort', cut)
        loan.release()
      }
    } catch {
      return false
    }
  }
  return (session, steps) =>
    new Promise((resolve, reject) => {
      let isOver = false
      let timer: NodeJS.Timeout
      const watch = (): void => {
        timer = setTimeout(async () => {
          const isAlive = await isWorking(session)
          if (isOver) return
          if (isAlive) return watch()
          // The server may yet be at it, and hold locks; and what one session does not answer, idle ones will not.
          connector.cancel(session).catch(() => {})
          session.destroy()
          pool.flush()
        }, quietMs)
      }
      const end = (act: () => void): void => {
        isOver = true
        clearTimeout(timer)
        act()
      }
      watch()
      run(session, steps).then(
        (results) => end(() => resolve(results)),
        (error) => end(() => reject(error)),
      )
    })
}

const run = (session: Session, steps: readonly Step[]): Promise<readonly StepResult[]> =>
  new Promise((resolve, reject) => session.exchanges.run([{ steps, settle: resolve, fail: reject }]))
