/** Runs statements on a session that nothing else uses, each of which has to be answered in time. */
import type pg from 'pg'
import type { Clock } from '../../../kernel/index.ts'
import type { Session } from './session.ts'

/** The results, one for each statement of the text. Parameters go with a single statement only. */
export type AskInTime = (statement: string, params?: readonly unknown[]) => Promise<pg.QueryResult[]>

/** Closes the session where there is no answer within `ms`: what comes later must not be taken for an answer in time. */
export const askInTime =
  (session: Session, clock: Clock, ms: number): AskInTime =>
  async (statement, params) => {
    const late = clock.deadline(ms)
    const cut = (): void => session.destroy()
    late.addEventListener('abort', cut, { once: true })
    try {
      const result = (await (params === undefined
        ? session.query(statement)
        : session.query(statement, [...params]))) as unknown
      return Array.isArray(result) ? result : [result as pg.QueryResult]
    } finally {
      late.removeEventListener('abort', cut)
    }
  }
