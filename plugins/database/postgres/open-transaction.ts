/**
 * One transaction. A statement without a result is held back and sent with the next one that has a result, or with
 * COMMIT: a transaction that only writes needs no session until its end, and takes a single round trip.
 */

import { BeforeCommitWork } from '../before-commit-work.ts'
import { type Sql, type SqlParam, sql, type Transaction } from '../contract.ts'
import { QueryCancelled } from '../errors.ts'
import type { Publication } from '../feed/publication.ts'
import { insertImmediately } from '../insert-immediately.ts'
import { createBorrowedSession } from './borrowed-session.ts'
import { createEnding, type Ending } from './ending.ts'
import type { Fence } from './fence.ts'
import { finishTransaction } from './finish-transaction.ts'
import { createHeldStatements } from './held-statements.ts'
import type { Lease } from './loan.ts'
import type { PendingWrites } from './pending-writes.ts'
import { rollBackTransaction } from './roll-back-transaction.ts'
import type { RunGroup } from './run-group.ts'
import type { BoundStatement } from './statement-group.ts'
import { createStatementSender } from './statement-sender.ts'
import type { Turns } from './turns.ts'

const begin = sql('begin', 'BEGIN')
const useAsynchronousCommit = sql('relax', "SELECT set_config('synchronous_commit', 'off', true)")
const holdNameShared = sql(
  'hold-shared',
  'SELECT 1 AS held FROM (SELECT pg_advisory_xact_lock_shared(hashtextextended(?, 0))) AS l',
)
const holdName = sql('hold', 'SELECT 1 AS held FROM (SELECT pg_advisory_xact_lock(hashtextextended(?, 0))) AS l')

/** A statement that changes nothing but locks, numbers of sequences and settings. */
const isRead = ({ postgres }: Sql): boolean => postgres.startsWith('SELECT')

export interface OpenTransaction {
  readonly transaction: Transaction
  /** Items registered with `beforeCommit`. */
  readonly beforeCommitWork: BeforeCommitWork
  /** Functions to call after COMMIT. */
  readonly listeners: readonly (() => void)[]
  readonly ending: Ending
  /**
   * Without a session: ends the transaction, sends nothing, and returns its statements, so that the caller runs them. With a
   * session: returns undefined and changes nothing.
   */
  takePendingWrites(): PendingWrites | undefined
  /**
   * Takes a session and sends the statements held back. From then on `commit` waits neither for a session nor for a row
   * that an earlier statement would have locked.
   */
  secure(): Promise<void>
  /** COMMIT does not wait for the disk. */
  relax(): void
  /** Whether it publishes something: then the disk has to be waited for, by this COMMIT or by a later one. */
  readonly publishes: boolean
  /** Resolves after COMMIT returned. Throws CommitUnknown when the connection was lost meanwhile. */
  commit(): Promise<void>
  /** Rolls back and releases the session; never throws. */
  rollback(): Promise<void>
  /** Releases the session, if there is one. */
  release(): void
  /** The error of the first statement that failed: from then on the transaction can only be rolled back. */
  readonly failure: unknown
  /** True when a check was added by `assertOptimistically`. */
  readonly hasAssertion: boolean
}

export interface OpenTransactionParts {
  /** Called when a session is needed. */
  readonly acquire: () => Lease | Promise<Lease>
  readonly send: RunGroup
  /** The statement that begins it, where it is another than BEGIN. */
  readonly beginning?: Sql
  /** Where it waits for other transactions of this process; without it, it does not wait. */
  readonly turns?: Turns
  /** Whether checks may be left to the server: see `Transaction.assertOptimistically`. */
  readonly assertsOptimistically?: boolean
  /** Statements of the members of a group commit, which come before all others, and what they publish. */
  readonly steps?: readonly BoundStatement[]
  readonly publications?: readonly Publication[]
  /** Checked with COMMIT where the transaction may have written; without it, nothing is checked. */
  readonly fence?: Fence | undefined
}

export const openTransaction = ({
  acquire,
  send,
  beginning = begin,
  turns,
  assertsOptimistically = false,
  steps = [],
  publications = [],
  fence,
}: OpenTransactionParts): OpenTransaction => {
  const beforeCommitWork = new BeforeCommitWork()
  const listeners: (() => void)[] = []
  const ending = createEnding()
  const held = createHeldStatements(steps)
  const borrowed = createBorrowedSession(acquire, turns)
  const sender = createStatementSender({ held, borrowed, send, beginning })
  const published: Publication[] = [...publications]
  let hasWritten = steps.some(({ statement }) => !isRead(statement))
  let hasAssertion = false
  let isRelaxed = false
  let hasEnded = false

  const check = (signal?: AbortSignal): void => {
    if (hasEnded) throw new Error('a statement came after the end of its transaction')
    if (signal?.aborted) throw QueryCancelled()
  }
  const holdBack = (statement: Sql, params: readonly SqlParam[]): void => {
    check()
    hasWritten ||= !isRead(statement)
    held.add(statement, params)
  }
  const query = async (statement: Sql, params: readonly SqlParam[], signal?: AbortSignal) => {
    check(signal)
    hasWritten ||= !isRead(statement)
    const results = await sender.flush({ statement, params })
    return results.at(-1)!.rows
  }
  const queue: Transaction['queue'] = (name) => {
    check()
    return sender.hasBegun ? undefined : borrowed.queue(name)
  }

  return {
    beforeCommitWork,
    listeners,
    ending,
    takePendingWrites() {
      if (sender.hasBegun) return undefined
      hasEnded = true
      // Nothing was sent, so it holds no locks.
      borrowed.release()
      return { steps: held.steps, bytes: held.bytes, published, ending }
    },
    async secure() {
      if (held.steps.length > 0) await sender.flush()
      // A statement under way may already be acquiring the session.
      await sender.answered
      if (sender.failure !== undefined) throw sender.failure
      borrowed.lease ??= await acquire()
    },
    transaction: {
      beforeCommit(participant, item) {
        check()
        beforeCommitWork.add(participant, item)
      },
      afterCommit(listener) {
        check()
        listeners.push(listener)
      },
      afterEnd(listener) {
        check()
        ending.listen(listener)
      },
      publish(publication) {
        check()
        published.push(publication)
      },
      insertDeferred(insert, params, last) {
        return insertImmediately(this, insert, params, last)
      },
      get: async <R>(statement: Sql, params: readonly SqlParam[]) =>
        (await query(statement, params))[0] as R | undefined,
      all: async <R>(statement: Sql, params: readonly SqlParam[]) => (await query(statement, params)) as R[],
      longQuery: async <R>(...asked: Parameters<typeof query>) => (await query(...asked)) as R[],
      run(statement, params) {
        holdBack(statement, params)
        if (!held.isFull) return
        const sent = sender.flush().then(() => {})
        sent.catch(() => {}) // COMMIT reports the failure at the latest
        return sent
      },
      async hold(name, isShared = false) {
        if (!isShared) await queue(name)
        await query(isShared ? holdNameShared : holdName, [name])
      },
      queue,
      assertOptimistically(statement, params) {
        if (!assertsOptimistically || sender.hasBegun) return false
        holdBack(statement, params)
        hasAssertion = true
        return true
      },
    },
    relax() {
      isRelaxed = true
      holdBack(useAsynchronousCommit, [])
    },
    get publishes() {
      return published.length > 0
    },
    async commit() {
      hasEnded = true
      const close = () => (hasWritten ? fence?.close(published) : undefined)
      await finishTransaction({ held, borrowed, sender, send, ending, close, isDurable: !isRelaxed })
    },
    rollback() {
      hasEnded = true
      return rollBackTransaction(borrowed, sender, send)
    },
    release: () => borrowed.release(),
    get failure() {
      return sender.failure
    },
    get hasAssertion() {
      return hasAssertion
    },
  }
}
