/** Sends the statements of one transaction, one group after the other. */
import type { Sql } from '../contract.ts'
import type { BorrowedSession } from './borrowed-session.ts'
import type { HeldStatements } from './held-statements.ts'
import type { RunGroup } from './run-group.ts'
import type { BoundStatement, StatementResult } from './statement-group.ts'

export interface StatementSender {
  /** Whether the statement that begins the transaction was sent. */
  readonly hasBegun: boolean
  /** The error of the first statement that failed; no statement is sent after it. */
  failure: unknown
  /** Resolves when the groups that were sent are answered; never rejects. */
  readonly answered: Promise<unknown>
  /** Sends the statements held back, and `last` behind them, when the groups before are answered. */
  flush(last?: BoundStatement): Promise<readonly StatementResult[]>
}

export interface StatementSenderParts {
  readonly held: HeldStatements
  readonly borrowed: BorrowedSession
  readonly send: RunGroup
  /** The statement that begins the transaction. */
  readonly beginning: Sql
}

export const createStatementSender = ({ held, borrowed, send, beginning }: StatementSenderParts): StatementSender => {
  let hasBegun = false
  let failure: unknown
  let tail: Promise<unknown> = Promise.resolve()

  const sendGroup = async (steps: readonly BoundStatement[]): Promise<readonly StatementResult[]> => {
    if (failure !== undefined) throw failure
    try {
      borrowed.lease ??= await borrowed.acquire()
      return await send(borrowed.lease.session, steps)
    } catch (error) {
      failure ??= error
      throw error
    }
  }
  return {
    get hasBegun() {
      return hasBegun
    },
    get failure() {
      return failure
    },
    set failure(error) {
      failure = error
    },
    get answered() {
      return tail
    },
    flush(last) {
      const steps = [
        ...(hasBegun ? [] : [{ statement: beginning, params: [] }]),
        ...held.take(),
        ...(last === undefined ? [] : [last]),
      ]
      hasBegun = true
      const sent = tail.then(() => sendGroup(steps))
      tail = sent.catch(() => {})
      return sent
    },
  }
}
