/**
 * One transaction on one session. What has no answer is kept back and travels with the next statement that has one, or
 * with COMMIT: a transaction that only writes is a single round trip.
 */
import { DatabaseUnavailable } from '../errors.ts'
import { Leavings } from '../leavings.ts'
import { insertNow, type Param, type Sql, sql, type Transaction } from '../service.ts'
import { CommitUnknown } from './errors.ts'
import type { Step, StepResult } from './exchange.ts'
import { isLost } from './failure.ts'
import type { Session } from './session.ts'

const MOST_STEPS = 500 // kept back, and
const MOST_BYTES = 1024 * 1024 // then sent ahead, so that a large import does not pile up here

const begin = sql('begin', 'BEGIN')
const commit = sql('commit', 'COMMIT')
const rollback = sql('rollback', 'ROLLBACK')

export interface OpenTransaction {
  readonly transaction: Transaction
  /** What was left for its end. */
  readonly leavings: Leavings
  /** Sends what is kept back, and waits until it is done. */
  flush(): Promise<void>
  /** Resolves after COMMIT returned. Throws CommitUnknown when the connection was lost meanwhile. */
  commit(): Promise<void>
  /** Undoes everything; never throws. */
  rollback(): Promise<void>
  /** What the first failing statement failed with: from then on nothing of this transaction can be kept. */
  readonly failure: unknown
}

/** `send` runs the steps as one group, within a deadline. */
export const openTransaction = (
  session: Session,
  send: (steps: readonly Step[]) => Promise<readonly StepResult[]>,
): OpenTransaction => {
  const leavings = new Leavings()
  let kept: Step[] = []
  let bytes = 0
  let begun = false
  let ended = false
  let failure: unknown
  let tail: Promise<unknown> = Promise.resolve()

  const sendOne = async (steps: readonly Step[]): Promise<readonly StepResult[]> => {
    if (failure !== undefined) throw failure
    try {
      return await send(steps)
    } catch (error) {
      failure ??= error
      throw error
    }
  }
  /** Everything kept back, and `last` behind it; one after the other. */
  const flush = (last?: Step): Promise<readonly StepResult[]> => {
    const steps = [...(begun ? [] : [{ statement: begin, params: [] }]), ...kept, ...(last === undefined ? [] : [last])]
    begun = true
    kept = []
    bytes = 0
    const sent = tail.then(() => sendOne(steps))
    tail = sent.catch(() => {})
    return sent
  }
  const check = (): void => {
    if (ended) throw new Error('a statement came after the end of its transaction')
  }
  const ask = async (statement: Sql, params: readonly Param[]): Promise<Record<string, unknown>[]> => {
    check()
    const results = await flush({ statement, params })
    return results.at(-1)!.rows
  }

  const finish = async (): Promise<void> => {
    await tail
    if (failure !== undefined) throw failure
    if (!begun && kept.length === 0) return
    // Statements of one group are a transaction of their own: BEGIN and COMMIT are for those of several groups.
    const steps = begun ? [...kept, { statement: commit, params: [] }] : kept
    // Lost before anything of the commit was sent: then nothing is in doubt.
    if (!session.isUsable) throw DatabaseUnavailable()
    try {
      const results = await send(steps)
      if (begun && results.at(-1)?.tag !== 'COMMIT') throw DatabaseUnavailable().with({ detail: results.at(-1)?.tag })
    } catch (error) {
      failure = isLost(error) ? CommitUnknown().with({ cause: error }) : error
      throw failure
    }
  }

  return {
    leavings,
    async flush() {
      if (kept.length > 0) await flush()
    },
    transaction: {
      leave(closing, item) {
        check()
        leavings.add(closing, item)
      },
      later(insert, params) {
        return insertNow(this, insert, params)
      },
      get: async <R>(statement: Sql, params: readonly Param[]) => (await ask(statement, params))[0] as R | undefined,
      all: async <R>(statement: Sql, params: readonly Param[]) => (await ask(statement, params)) as R[],
      run(statement, params) {
        check()
        kept.push({ statement, params })
        for (const param of params) bytes += param === null || typeof param === 'number' ? 8 : param.length
        if (kept.length < MOST_STEPS && bytes < MOST_BYTES) return
        const sent = flush().then(() => {})
        sent.catch(() => {}) // heard at the latest with COMMIT, also by those who do not wait
        return sent
      },
    },
    async commit() {
      ended = true
      await finish()
    },
    async rollback() {
      ended = true
      await tail
      if (session.isUsable && session.transactionStatus !== 'I')
        await send([{ statement: rollback, params: [] }]).catch(() => session.destroy())
    },
    get failure() {
      return failure
    },
  }
}
