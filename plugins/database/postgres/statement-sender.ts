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

class GroupSender implements StatementSender {
  readonly #parts: StatementSenderParts
  hasBegun = false
  failure: unknown
  answered: Promise<unknown> = Promise.resolve()

  constructor(parts: StatementSenderParts) {
    this.#parts = parts
  }

  flush(last?: BoundStatement): Promise<readonly StatementResult[]> {
    const { held, beginning } = this.#parts
    const steps = [
      ...(this.hasBegun ? [] : [{ statement: beginning, params: [] }]),
      ...held.take(),
      ...(last === undefined ? [] : [last]),
    ]
    this.hasBegun = true
    const sent = this.answered.then(() => this.#sendGroup(steps))
    this.answered = sent.catch(() => {})
    return sent
  }

  async #sendGroup(steps: readonly BoundStatement[]): Promise<readonly StatementResult[]> {
    if (this.failure !== undefined) throw this.failure
    const { borrowed, send } = this.#parts
    try {
      borrowed.lease ??= await borrowed.acquire()
      return await send(borrowed.lease.session, steps)
    } catch (error) {
      this.failure ??= error
      throw error
    }
  }
}

export const createStatementSender = (parts: StatementSenderParts): StatementSender => new GroupSender(parts)
