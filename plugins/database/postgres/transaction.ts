/**
 * One transaction. What has no answer is kept back and travels with the next statement that has one, or with COMMIT: a
 * transaction that only writes needs no session until its end, and is a single round trip.
 */

import { BeforeCommitWork } from '../before-commit-work.ts'
import { insertImmediately, type MaybePromise, type Sql, type SqlParam, sql, type Transaction } from '../contract.ts'
import { DatabaseUnavailable } from '../errors.ts'
import { CommitUnknown } from './errors.ts'
import type { BoundStatement, StatementResult } from './exchange.ts'
import { isLost } from './failure.ts'
import type { Lease } from './loan.ts'
import type { RunGroup } from './run-group.ts'
import type { Turns } from './turns.ts'

export const MAX_STEPS = 500 // kept back, and
export const MAX_BYTES = 1024 * 1024 // then sent ahead, so that a large import does not pile up here

const begin = sql('begin', 'BEGIN')
const commit = sql('commit', 'COMMIT')
const rollback = sql('rollback', 'ROLLBACK')
const holdName = sql('hold', 'SELECT 1 AS held FROM (SELECT pg_advisory_xact_lock(hashtextextended(?, 0))) AS l')

/** What a transaction that asked nothing has to write. */
export interface Writes {
  readonly steps: readonly BoundStatement[]
  readonly bytes: number
}

export interface OpenTransaction {
  readonly transaction: Transaction
  /** What was left for its end. */
  readonly beforeCommitWork: BeforeCommitWork
  /** To be called after COMMIT. */
  readonly told: readonly (() => void)[]
  /** Ends it, and gives away what it has to write; undefined when it has a session by now. */
  takePendingWrites(): Writes | undefined
  /**
   * Takes a session and sends what is kept back. From then on `commit` waits for no session and for no row that an
   * earlier statement would have locked.
   */
  secure(): Promise<void>
  /** Resolves after COMMIT returned. Throws CommitUnknown when the connection was lost meanwhile. */
  commit(): Promise<void>
  /** Undoes everything, and gives the session back; never throws. */
  rollback(): Promise<void>
  /** Gives the session back, if there is one. */
  release(): void
  /** What the first failing statement failed with: from then on nothing of this transaction can be kept. */
  readonly failure: unknown
  /** True when it was taken for granted that a check holds. */
  readonly hasAssertion: boolean
}

export interface TransactionParts {
  /** A session, when one is needed. */
  readonly acquire: () => Lease | Promise<Lease>
  readonly send: RunGroup
  /** Where it waits for others of this process; it does not where there is none. */
  readonly turns?: Turns
  /** Whether checks may be left to the server: see `Transaction.presume`. */
  readonly assertsOptimistically?: boolean
  /** What others have to write, before anything else. */
  readonly steps?: readonly BoundStatement[]
}

export const openTransaction = ({
  acquire,
  send,
  turns,
  assertsOptimistically = false,
  steps = [],
}: TransactionParts): OpenTransaction => {
  const beforeCommitWork = new BeforeCommitWork()
  const told: (() => void)[] = []
  let kept: BoundStatement[] = [...steps]
  let bytes = 0
  let lease: Lease | undefined
  let begun = false
  let ended = false
  let presumed = false
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
  /** Everything kept back, and `last` behind it; one after the other. */
  const flush = (last?: BoundStatement): Promise<readonly StatementResult[]> => {
    const some = [...(begun ? [] : [{ statement: begin, params: [] }]), ...kept, ...(last === undefined ? [] : [last])]
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
    kept.push({ statement, params })
    for (const param of params) bytes += param === null || typeof param === 'number' ? 8 : param.length
  }
  const ask = async (statement: Sql, params: readonly SqlParam[]): Promise<Record<string, unknown>[]> => {
    check()
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
    // Statements of one group are a transaction of their own: BEGIN and COMMIT are for those of several groups.
    const last = begun ? [...kept, { statement: commit, params: [] }] : kept
    lease ??= await acquire()
    // Lost before anything of the commit was sent: then nothing is in doubt.
    if (!lease.session.isUsable) throw DatabaseUnavailable()
    try {
      const results = await send(lease.session, last)
      if (begun && results.at(-1)?.tag !== 'COMMIT') throw DatabaseUnavailable().with({ detail: results.at(-1)?.tag })
    } catch (error) {
      failure = isLost(error) ? CommitUnknown().with({ cause: error }) : error
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
    takePendingWrites() {
      if (begun) return undefined
      ended = true
      // It has locked nothing.
      release()
      return { steps: kept, bytes }
    },
    async secure() {
      if (kept.length > 0) await flush()
      // A statement under way may be taking the session.
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
      insertDeferred(insert, params, last) {
        return insertImmediately(this, insert, params, last)
      },
      get: async <R>(statement: Sql, params: readonly SqlParam[]) => (await ask(statement, params))[0] as R | undefined,
      all: async <R>(statement: Sql, params: readonly SqlParam[]) => (await ask(statement, params)) as R[],
      run(statement, params) {
        keep(statement, params)
        if (kept.length < MAX_STEPS && bytes < MAX_BYTES) return
        const sent = flush().then(() => {})
        sent.catch(() => {}) // heard at the latest with COMMIT, also by those who do not wait
        return sent
      },
      async hold(name) {
        await queue(name)
        await ask(holdName, [name])
      },
      queue,
      assertOptimistically(statement, params) {
        if (!assertsOptimistically || begun) return false
        keep(statement, params)
        presumed = true
        return true
      },
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
