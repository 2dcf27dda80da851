/** Runs statements on the main thread or in a worker thread, and notes them where the search is explained. */
import type { RowSource } from '../../storage/service.ts'
import type { Fragment } from '../sql/fragment.ts'
import type { StatementCache } from '../sql/statements.ts'
import type { Deadline } from './deadline.ts'

/**
 * Up to so many rows of a driving clause are read on the main thread, which takes a millisecond; more are read in a
 * worker thread.
 */
export const SMALL = 500

/** Runs a statement; on the main thread when `small` is true. */
export type RunStatement = <R>(statement: Fragment, small: boolean, asking: Deadline) => Promise<R[]>

export const createRunStatement = (source: RowSource, statements: StatementCache): RunStatement => {
  const ask = async <R>({ text, params }: Fragment, small: boolean, asking: Deadline): Promise<R[]> =>
    small ? source.all<R>(statements(text), params) : source.longQuery<R>(statements(text), params, asking.signal)

  return async <R>(statement: Fragment, small: boolean, asking: Deadline): Promise<R[]> => {
    const { trace } = asking
    if (trace === undefined) return ask(statement, small, asking)
    const started = trace.now()
    const rows = await ask<R>(statement, small, asking)
    trace.note(statement, trace.now() - started, !small)
    return rows
  }
}
