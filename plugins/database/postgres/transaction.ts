/**
 * One transaction. A statement without a result is held back and sent with the next one that has a result, or with
 * COMMIT: a transaction that only writes needs no session until its end, and takes a single round trip.
 */

import { BeforeCommitWork } from '../before-commit-work.ts'
import { insertImmediately, type MaybePromise, type Sql, type SqlParam, sql, type Transaction } from '../contract.ts'
import { DatabaseUnavailable } from '../errors.ts'
import type { Publication } from '../feed/publication.ts'
import { createEnding, type Ending } from './ending.ts'
import { CommitUnknown } from './errors.ts'
import { fromPostgres, isLost, isRefusal } from './failure.ts'
import { type Fence, isFencedOff } from './fence.ts'
import type { Lease } from './loan.ts'
import type { RunGroup } from './run-group.ts'
import type { BoundStatement, StatementResult } from './statement-group.ts'
import type { Turns } from './turns.ts'

export const MAX_STEPS = 500 // statements held back at most
// of statements held back; then they are sent, so that a large import does not use much memory
export const MAX_BYTES = 1024 * 1024

const begin = sql('begin', 'BEGIN')
const commit = sql('commit', 'COMMIT')
const rollback = sql('rollback', 'ROLLBACK')
const useAsynchronousCommit = sql('relax', "SELECT set_config('synchronous_commit', 'off', true)")
const holdNameShared = sql(
  'hold-shared',
  'SELECT 1 AS held FROM (SELECT pg_advisory_xact_lock_shared(hashtextextended(?, 0))) AS l',
)
const holdName = sql('hold', 'SELECT 1 AS held FROM (SELECT pg_advisory_xact_lock(hashtextextended(?, 0))) AS l')

/** A statement that changes nothing but locks, numbers of sequences and settings. */
const isRead = ({ postgres }: Sql): boolean => postgres.startsWith('SELECT')

/** The statements of a transaction that has run none with a result. */
export interface Writes {
  readonly steps: readonly BoundStatement[]
  readonly bytes: number
  readonly published: readonly Publication[]
  readonly ending: Ending
}

export interface OpenTransaction {
  readonly transaction: Transaction
  /** Items registered with `beforeCommit`. */
  readonly beforeCommitWork: BeforeCommitWork
  /** Functions to call after COMMIT. */
  readonly told: readonly (() => void)[]
  readonly ending: Ending
  /**
   * Without a session: ends the transaction, sends nothing, and returns its statements, so that the caller runs them. With a
   * session: returns undefined and changes nothing.
   */
  takePendingWrites(): Writes | undefined
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

export interface TransactionParts {
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
}: TransactionParts): OpenTransaction => {
  const beforeCommitWork = new BeforeCommitWork()
  const told: (() => void)[] = []
  const ending = createEnding()
  let kept: BoundStatement[] = [...steps]
  let bytes = 0
  let lease: Lease | undefined
  let begun = false
  let ended = false
  let presumed = false
  let isRelaxed = false
  const published: Publication[] = [...publications]
  let hasWritten = steps.some(({ statement }) => !isRead(statement))
  let failure: unknown
  let endTurn: (() => void) | undefined
  let tail: Promise<unknown> = Promise.resolve()

  const sendOne = async (some: readonly BoundStatement[]): Promise<readonly StatementResult[]> => {
    if (failure !== undefined) throw failure
    try {
      lease ??= await acquire()
      return await send(lease.session, some)
    } catch (error) {
      failure ??= error
      throw error
    }
  }
  /** Sends the statements held back, and `last` behind them, after those that were sent before. */
  const flush = (last?: BoundStatement): Promise<readonly StatementResult[]> => {
    const some = [
      ...(begun ? [] : [{ statement: beginning, params: [] }]),
      ...kept,
      ...(last === undefined ? [] : [last]),
    ]
    begun = true
    kept = []
    bytes = 0
    const sent = tail.then(() => sendOne(some))
    tail = sent.catch(() => {})
    return sent
  }
  const check = (): void => {
    if (ended) throw new Error('a statement came after the end of its transaction')
  }
  const keep = (statement: Sql, params: readonly SqlParam[]): void => {
    check()
    hasWritten ||= !isRead(statement)
    kept.push({ statement, params })
    for (const param of params) bytes += param === null || typeof param === 'number' ? 8 : param.length
  }
  const ask = async (statement: Sql, params: readonly SqlParam[]): Promise<Record<string, unknown>[]> => {
    check()
    hasWritten ||= !isRead(statement)
    const results = await flush({ statement, params })
    return results.at(-1)!.rows
  }

  const queue = (name: string): MaybePromise<void> => {
    check()
    if (turns === undefined || begun || endTurn !== undefined) return undefined
    const turn = turns.take(name)
    if (!(turn instanceof Promise)) {
      endTurn = turn
      return undefined
    }
    return turn.then((end) => {
      endTurn = end
    })
  }

  const finish = async (): Promise<void> => {
    await tail
    if (failure !== undefined) throw failure
    if (!begun && kept.length === 0) return
    // A single group of statements is a transaction by itself; BEGIN and COMMIT are needed only for several groups.
    lease ??= await acquire()
    // The session was lost before the commit was sent, so the outcome is known.
    if (!lease.session.isUsable) throw DatabaseUnavailable()
    const closing = hasWritten ? fence?.close(published) : undefined
    const last = [
      ...kept,
      ...(closing === undefined ? [] : [closing]),
      ...(begun ? [{ statement: commit, params: [] }] : []),
    ]
    ending.isInDoubt = true
    try {
      const results = await send(lease.session, last)
      ending.isInDoubt = false
      if (begun && results.at(-1)?.tag !== 'COMMIT') throw DatabaseUnavailable().with({ detail: results.at(-1)?.tag })
      closing?.passed(results.at(begun ? -2 : -1)?.rows ?? [], !isRelaxed)
    } catch (error) {
      if (isRefusal(error)) ending.isInDoubt = false
      failure = isLost(error)
        ? CommitUnknown().with({ cause: error })
        : isFencedOff(error)
          ? fromPostgres(error)
          : error
      closing?.failed(error)
      throw failure
    }
  }
  const release = (): void => {
    lease?.release()
    lease = undefined
    endTurn?.()
    endTurn = undefined
  }

  return {
    beforeCommitWork,
    told,
    ending,
    takePendingWrites() {
      if (begun) return undefined
      ended = true
      // Nothing was sent, so it holds no locks.
      release()
      return { steps: kept, bytes, published, ending }
    },
    async secure() {
      if (kept.length > 0) await flush()
      // A statement under way may already be acquiring the session.
      await tail
      if (failure !== undefined) throw failure
      lease ??= await acquire()
    },
    transaction: {
      beforeCommit(participant, item) {
        check()
        beforeCommitWork.add(participant, item)
      },
      afterCommit(tell) {
        check()
        told.push(tell)
      },
      afterEnd(tell) {
        check()
        ending.listen(tell)
      },
      publish(publication) {
        check()
        published.push(publication)
      },
      insertDeferred(insert, params, last) {
        return insertImmediately(this, insert, params, last)
      },
      get: async <R>(statement: Sql, params: readonly SqlParam[]) => (await ask(statement, params))[0] as R | undefined,
      all: async <R>(statement: Sql, params: readonly SqlParam[]) => (await ask(statement, params)) as R[],
      run(statement, params) {
        keep(statement, params)
        if (kept.length < MAX_STEPS && bytes < MAX_BYTES) return
        const sent = flush().then(() => {})
        sent.catch(() => {}) // COMMIT reports the failure at the latest
        return sent
      },
      async hold(name, isShared = false) {
        if (!isShared) await queue(name)
        await ask(isShared ? holdNameShared : holdName, [name])
      },
      queue,
      assertOptimistically(statement, params) {
        if (!assertsOptimistically || begun) return false
        keep(statement, params)
        presumed = true
        return true
      },
    },
    relax() {
      isRelaxed = true
      keep(useAsynchronousCommit, [])
    },
    get publishes() {
      return published.length > 0
    },
    async commit() {
      ended = true
      await finish()
    },
    async rollback() {
      ended = true
      await tail
      if (lease === undefined) return release()
      const { session } = lease
      if (session.isUsable && session.transactionStatus !== 'I')
        await send(session, [{ statement: rollback, params: [] }]).catch(() => session.destroy())
      release()
    },
    release,
    get failure() {
      return failure
    },
    get hasAssertion() {
      return presumed
    },
  }
}
