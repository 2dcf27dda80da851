/** Reads the server's answers to groups of prepared statements that were sent in one round trip. */
import type { Columns } from './columns.ts'
import { COMMAND_COMPLETE, DATA_ROW, ERROR, READY } from './message-types.ts'
import { readServerError } from './server-error.ts'
import type { StatementGroup, StatementResult } from './statement-group.ts'

/** Handles a message of the server; `at` is where its fields begin. Returns true when the answer is complete. */
export type ReplyHandler = (type: number, bytes: Buffer, at: number, end: number) => boolean

export interface GroupAnswers {
  readonly take: ReplyHandler
  /** Settles or fails the group whose answer is complete. */
  finish(): void
  /** Fails the groups that have no complete answer, because the connection was lost. */
  lose(error: unknown): void
}

/** `columns`: of each statement of each group. */
export const createGroupAnswers = (
  groups: readonly StatementGroup[],
  columns: readonly (readonly Columns[])[],
): GroupAnswers => {
  let at = 0 // the group that is being answered
  let results: StatementResult[] = []
  let rows: Record<string, unknown>[] = []
  let error: unknown
  const finish = (): void => {
    const group = groups[at]!
    const answered = results
    const failure = error
    at += 1
    results = []
    rows = []
    error = undefined
    if (failure === undefined) group.settle(answered)
    else group.fail(failure)
  }
  return {
    take(type, message, from, end) {
      switch (type) {
        case DATA_ROW:
          try {
            rows.push(columns[at]![results.length]!.row(message, from))
          } catch (unreadable) {
            error ??= unreadable
          }
          return false
        case COMMAND_COMPLETE:
          results.push({ rows, tag: message.toString('latin1', from, end - 1) })
          rows = []
          return false
        case ERROR:
          error ??= readServerError(message, from)
          return false
        case READY:
          // The last group is finished when pg itself has handled this message: only then is the session's state up
          // to date.
          if (at === groups.length - 1) return true
          finish()
          return false
        default:
          return false
      }
    },
    finish,
    lose(lost) {
      while (at < groups.length) {
        error ??= lost
        finish()
        error = lost
      }
    },
  }
}
