/** Runs statements on a session that nothing else uses, each of which has to be answered in time. */
import type pg from 'pg'
import type { Clock } from '../../../kernel/index.ts'
import { runSteps } from './run-steps.ts'
import type { Session } from './session.ts'
import type { BoundStatement, StatementResult } from './statement-group.ts'

/** The results, one for each statement of the text. Parameters go with a single statement only. */
export type AskInTime = (statement: string, params?: readonly unknown[]) => Promise<pg.QueryResult[]>

/** Prepared statements, which spare PostgreSQL to parse and plan what is asked often. Calls must not overlap. */
export type RunInTime = (steps: readonly BoundStatement[]) => Promise<readonly StatementResult[]>

/** Closes the session where there is no answer within `ms`: what comes later must not be taken for an answer in time. */
const inTime = async <T>(session: Session, clock: Clock, ms: number, ask: () => Promise<T>): Promise<T> => {
  const late = clock.deadline(ms)
  const cut = (): void => session.destroy()
  late.addEventListener('abort', cut, { once: true })
  try {
    return await ask()
  } finally {
    late.removeEventListener('abort', cut)
  }
}

export const askInTime =
  (session: Session, clock: Clock, ms: number): AskInTime =>
  (statement, params) =>
    inTime(session, clock, ms, async () => {
      const result = (await (params === undefined
        ? session.query(statement)
        : session.query(statement, [...params]))) as unknown
      return Array.isArray(result) ? result : [result as pg.QueryResult]
    })

export const runInTime =
  (session: Session, clock: Clock, ms: number): RunInTime =>
  (steps) =>
    inTime(session, clock, ms, () => runSteps(session, steps))
