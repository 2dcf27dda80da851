/**
 * Runs one transaction (a job) inside the open SQLite transaction of its group: without a savepoint, or in one that can
 * be rolled back alone.
 */
import type BetterSqlite from 'better-sqlite3'
import type { BeforeCommitWork } from '../before-commit-work.ts'
import { chain, type MaybePromise, type Transaction } from '../contract.ts'
import { QueryCancelled } from '../errors.ts'
import type { Publication } from '../feed/publication.ts'
import { fromSqlite } from './failure.ts'
import type { GroupTransaction } from './group-transaction.ts'
import type { InsertBuffer } from './insert-buffer.ts'

export interface QueuedTransaction {
  readonly work: (transaction: Transaction) => MaybePromise<unknown>
  readonly isAsynchronous: boolean
  readonly isLong: boolean
  readonly readsMayWait: boolean
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

export interface FinishedTransaction {
  readonly job: QueuedTransaction
  readonly value: unknown
  /** Items for the end of the group. */
  readonly left: BeforeCommitWork | undefined
  /** To be called after COMMIT. */
  readonly listeners: readonly (() => void)[]
  readonly published: readonly Publication[]
}

export const createSqliteGroupCommit = (
  handle: BetterSqlite.Database,
  transaction: GroupTransaction,
  insertBuffer: InsertBuffer,
  /** Puts a job in front of those that wait. */
  putBack: (job: QueuedTransaction) => void,
) => {
  const savepoint = handle.prepare('SAVEPOINT job')
  const release = handle.prepare('RELEASE job')
  const undo = handle.prepare('ROLLBACK TO job')

  const runWork = (job: QueuedTransaction): MaybePromise<unknown> => {
    transaction.start(job.isLong)
    return chain(job.work(transaction), (value) => {
      // The work may have gone on without what its query would have found.
      if (transaction.wantsToBeLong) throw QueryCancelled()
      return value
    })
  }
  /** Puts the job back if it has to run again as the first one of a COMMIT; returns false if not. */
  const isPutBack = (job: QueuedTransaction): boolean => {
    if (transaction.wantsToBeLong) putBack({ ...job, isLong: true, readsMayWait: false })
    return transaction.wantsToBeLong
  }
  const toDone = (job: QueuedTransaction, value: unknown): FinishedTransaction => ({
    job,
    value,
    left: transaction.left,
    listeners: transaction.listeners,
    published: transaction.published,
  })

  /**
   * Runs a job without a savepoint. False when it failed after it wrote, which can be rolled back only with the whole
   * group. Returns no promise when the work is synchronous: then jobs follow one another in the same tick.
   */
  const runBoldly = (job: QueuedTransaction, done: FinishedTransaction[]): MaybePromise<boolean> => {
    const keep = (value: unknown): boolean => {
      done.push(toDone(job, value))
      return true
    }
    const fail = (error: unknown): boolean => {
      if (transaction.wrote) return false
      if (!isPutBack(job)) job.reject(fromSqlite(error))
      return true
    }
    let value: unknown
    try {
      value = runWork(job)
    } catch (error) {
      return fail(error)
    }
    return value instanceof Promise ? value.then(keep, fail) : keep(value)
  }

  /** Runs a job in a savepoint; it is added to `done` when its changes wait for the commit. */
  const runCarefully = async (job: QueuedTransaction, done: FinishedTransaction[]): Promise<void> => {
    savepoint.run()
    const mark = insertBuffer.mark()
    try {
      const value = await runWork(job)
      release.run()
      done.push(toDone(job, value))
    } catch (error) {
      // On a full disk SQLite may have rolled back the whole transaction: then all jobs of the group have to fail.
      if (!handle.inTransaction) {
        job.reject(fromSqlite(error))
        throw error
      }
      undo.run()
      release.run()
      insertBuffer.restore(mark)
      if (!isPutBack(job)) job.reject(fromSqlite(error))
    }
  }

  return { runBoldly, runCarefully }
}
