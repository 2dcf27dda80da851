/**
 * One transaction. What has no answer is kept back and travels with the next statement that has one, or with COMMIT: a
 * transaction that only writes needs no session until its end, and is a single round trip.
 */

import { type Eventually, insertNow, type Param, type Sql, sql, type Transaction } from '../contract.ts'
import { DatabaseUnavailable } from '../errors.ts'
import { Leavings } from '../leavings.ts'
import { CommitUnknown } from './errors.ts'
import type { Step, StepResult } from './exchange.ts'
import { isLost } from './failure.ts'
import type { Loan } from './loan.ts'
import type { Send } from './send.ts'
import type { Turns } from './turns.ts'

export const MOST_STEPS = 500 // kept back, and
export const MOST_BYTES = 1024 * 1024 // then sent ahead, so that a large import does not pile up here

const begin = sql('begin', 'BEGIN')
const commit = sql('commit', 'COMMIT')
const rollback = sql('rollback', 'ROLLBACK')
const holdName = sql('hold', 'SELECT 1 AS held FROM (SELECT pg_advisory_xact_lock(hashtextextended(?, 0))) AS l')

/** What a transaction that asked nothing has to write. */
export interface Writes {
  readonly steps: readonly Step[]
  readonly bytes: number
}

export interface OpenTransaction {
  readonly transaction: Transaction
  /** What was left for its end. */
  readonly leavings: Leavings
  /** Ends it, and gives away what it has to write; undefined when it has a session by now. */
  giveWrites(): Writes | undefined
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
  readonly presumed: boolean
}

export interface TransactionParts {
  /** A session, when one is needed. */
  readonly lend: () => Loan | Promise<Loan>
  readonly send: Send
  /** Where it waits for others of this process; it does not where there is none. */
  readonly turns?: Turns
  /** Whether checks may be left to the server: see `Transaction.presume`. */
  readonly presumes?: boolean
  /** What others have to write, before anything else. */
  readonly steps?: readonly Step[]
}

export const openTransaction = ({
  lend,
  send,
  turns,
  presumes = false,
  steps = [],
}: TransactionParts): OpenTransaction => {
  const leavings = new Leavings()
  let kept: Step[] = [...steps]
  let bytes = 0
  let loan: Loan | undefined
  let begun = false
  let ended = false
  let presumed = false
  let failure: unknown
  let endTurn: (() => void) | undefined
  let tail: Promise<unknown> = Promise.resolve()

  const sendOne = async (some: readonly Step[]): Promise<readonly StepResult[]> => {
    if (failure !== undefined) throw failure
    try {
      loan ??= await lend()
      return await send(loan.session, some)
    } catch (error) {
      failure ??= error
      throw error
    }
  }
  /** Everything kept back, and `last` behind it; one after the other. */
  const flush = (last?: Step): Promise<readonly StepResult[]> => {
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
  const keep = (statement: Sql, params: readonly Param[]): void => {
    check()
    kept.push({ statement, params })
    for (const param of params) bytes += param === null || typeof param === 'number' ? 8 : param.length
  }
  const ask = async (statement: Sql, params: readonly Param[]): Promise<Record<string, unknown>[]> => {
    check()
    const results = await flush({ statement, params })
    return results.at(-1)!.rows
  }

  const queue = (name: string): Eventually<void> => {
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
    loan ??= await lend()
    // Lost before anything of the commit was sent: then nothing is in doubt.
    if (!loan.session.isUsable) throw DatabaseUnavailable()
    try {
      const results = await send(loan.session, last)
      if (begun && results.at(-1)?.tag !== 'COMMIT') throw DatabaseUnavailable().with({ detail: results.at(-1)?.tag })
    } catch (error) {
      failure = isLost(error) ? CommitUnknown().with({ cause: error }) : error
      throw failure
    }
  }
  const release = (): void => {
    loan?.release()
    loan = undefined
    endTurn?.()
    endTurn = undefined
  }

  return {
    leavings,
    giveWrites() {
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
      loan ??= await lend()
    },
    transaction: {
      leave(closing, item) {
        check()
        leavings.add(closing, item)
      },
      later(insert, params, last) {
        return insertNow(this, insert, params, last)
      },
      get: async <R>(statement: Sql, params: readonly Param[]) => (await ask(statement, params))[0] as R | undefined,
      all: async <R>(statement: Sql, params: readonly Param[]) => (await ask(statement, params)) as R[],
      run(statement, params) {
        keep(statement, params)
        if (kept.length < MOST_STEPS && bytes < MOST_BYTES) return
        const sent = flush().then(() => {})
        sent.catch(() => {}) // heard at the latest with COMMIT, also by those who do not wait
        return sent
      },
      async hold(name) {
        await queue(name)
        await ask(holdName, [name])
      },
      queue,
      presume(statement, params) {
        if (!presumes || begun) return false
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
      if (loan === undefined) return release()
      const { session } = loan
      if (session.isUsable && session.transactionStatus !== 'I')
        await send(session, [{ statement: rollback, params: [] }]).catch(() => session.destroy())
      release()
    },
    release,
    get failure() {
      return failure
    },
    get presumed() {
      return presumed
    },
  }
}
