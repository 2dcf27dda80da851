/**
 * Runs one group of statements on a session. When no answer comes for a while, the cause may be a long statement, a
 * dead connection, or a server that stands still: another session queries pg_stat_activity to find out, and only a long
 * statement is waited for.
 */
import { sql } from '../contract.ts'
import type { Connector } from './client.ts'
import { isReadOnly, isUnfit } from './failure.ts'
import type { Pool } from './pool.ts'
import { runSteps } from './run-steps.ts'
import type { Session } from './session.ts'
import type { BoundStatement, StatementResult } from './statement-group.ts'

const QUIET_MS = 3_500 // silence until the check; with the check, a lost server is noticed within five seconds
const ASK_MS = 1_000

const stateOf = sql('state', 'SELECT state FROM pg_stat_activity WHERE pid = ?')

/**
 * Fails with PostgresError, or with ConnectionLost when the server is not working on the statements: then the session
 * is cut.
 */
export type RunGroup = (session: Session, steps: readonly BoundStatement[]) => Promise<readonly StatementResult[]>

export interface GroupRunnerOptions {
  readonly connector: Connector
  readonly pool: Pool
  readonly silenceMs?: number
  readonly askMs?: number
}

export const createGroupRunner = ({
  connector,
  pool,
  silenceMs = QUIET_MS,
  askMs = ASK_MS,
}: GroupRunnerOptions): RunGroup => {
  /** Sessions that wait for an answer here, each with a function that starts its check now. */
  const asked = new Map<Session, () => void>()
  const proving = new WeakSet<Session>()
  /**
   * Sends a query on a leased session that has no statement under way here. Its connection may be dead too: it is cut
   * unless it answers soon.
   */
  const prove = (session: Session): void => {
    if (proving.has(session) || !session.isUsable) return
    proving.add(session)
    let isOver = false
    const timer = setTimeout(
      // Waits one more turn of the event loop, in which an answer is read that arrived while this process was busy.
      () => setImmediate(() => (isOver ? undefined : session.destroy())),
      askMs,
    )
    const end = (): void => {
      isOver = true
      clearTimeout(timer)
      proving.delete(session)
    }
    session.query('SELECT 1').then(end, end)
  }
  pool.onDoubt((lent) => {
    for (const session of lent) {
      const hurry = asked.get(session)
      if (hurry === undefined) prove(session)
      else hurry()
    }
  })
  /**
   * What the server does about a session: it works on its statements, has nothing to do for it, or does not respond at
   * all.
   */
  const lookUp = async (session: Session): Promise<'working' | 'idle' | 'still'> => {
    const signal = AbortSignal.timeout(askMs)
    let isAsking = false
    try {
      const lease = await pool.acquire({ signal })
      const cut = (): void => lease.session.destroy()
      signal.addEventListener('abort', cut)
      isAsking = true
      try {
        const [result] = await runSteps(lease.session, [{ statement: stateOf, params: [session.backend.processID] }])
        return result?.rows[0]?.state === 'active' ? 'working' : 'idle'
      } finally {
        signal.removeEventListener('abort', cut)
        lease.release()
      }
    } catch {
      return isAsking && signal.aborted ? 'still' : 'idle'
    }
  }
  return (session, steps) =>
    new Promise((resolve, reject) => {
      let isOver = false
      let timer: NodeJS.Timeout
      let isLooking = false
      let isHurried = false
      const watch = (ms: number): void => {
        timer = setTimeout(async () => {
          isLooking = true
          const found = await lookUp(session)
          isLooking = false
          if (isOver) return
          if (found === 'working') return watch(silenceMs)
          // The statement may still run and hold locks, so it is cancelled. Idle sessions are likely to be dead as
          // well.
          connector.cancel(session).catch(() => {})
          session.destroy()
          if (found === 'still') pool.cut(new Set(asked.keys()))
          else pool.flush()
        }, ms)
      }
      const end = (act: () => void): void => {
        isOver = true
        asked.delete(session)
        clearTimeout(timer)
        act()
      }
      asked.set(session, () => {
        if (isOver || isLooking || isHurried) return
        isHurried = true
        clearTimeout(timer)
        watch(askMs)
      })
      watch(silenceMs)
      runSteps(session, steps).then(
        (results) => end(() => resolve(results)),
        (error) =>
          end(() => {
            if (isReadOnly(error)) pool.retireReadOnly(session)
            else if (isUnfit(error)) pool.retire(session)
            reject(error)
          }),
      )
    })
}
