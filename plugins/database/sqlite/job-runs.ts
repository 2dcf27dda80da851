/** Runs one job in the transaction that is open: as it is, or in a savepoint that can be undone alone. */
import type BetterSqlite from 'better-sqlite3'
import type { Eventually, Transaction } from '../contract.ts'
import type { Leavings } from '../leavings.ts'
import type { Backlog } from './backlog.ts'
import { fromSqlite } from './failure.ts'
import type { JobTransaction } from './job-transaction.ts'

export interface Job {
  readonly work: (transaction: Transaction) => Eventually<unknown>
  readonly isRelaxed: boolean
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

export interface Done {
  readonly job: Job
  readonly value: unknown
  /** For the end of the group. */
  readonly left: Leavings | undefined
}

export const createJobRuns = (handle: BetterSqlite.Database, transaction: JobTransaction, backlog: Backlog) => {
  const savepoint = handle.prepare('SAVEPOINT job')
  const release = handle.prepare('RELEASE job')
  const undo = handle.prepare('ROLLBACK TO job')

  const runWork = (job: Job): Eventually<unknown> => {
    transaction.start()
    return job.work(transaction)
  }
  const toDone = (job: Job, value: unknown): Done => ({ job, value, left: transaction.left })

  /**
   * One job as it is; false when it failed with changes made, which cannot be undone without undoing the group. No promise
   * for work that waits for nothing: its transactions follow one another in one turn.
   */
  const runBoldly = (job: Job, done: Done[]): Eventually<boolean> => {
    const keep = (value: unknown): boolean => {
      done.push(toDone(job, value))
      return true
    }
    const fail = (error: unknown): boolean => {
      if (transaction.wrote) return false
      job.reject(fromSqlite(error))
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

  /** One job in its savepoint; in `done` when its changes stand and wait for the commit. */
  const runCarefully = async (job: Job, done: Done[]): Promise<void> => {
    savepoint.run()
    const mark = backlog.mark()
    try {
      const value = await runWork(job)
      release.run()
      done.push(toDone(job, value))
    } catch (error) {
      // A full disk may already have rolled everything back; then the whole group is lost and must hear so.
      if (!handle.inTransaction) {
        job.reject(fromSqlite(error))
        throw error
      }
      undo.run()
      release.run()
      backlog.restore(mark)
      job.reject(fromSqlite(error))
    }
  }

  return { runBoldly, runCarefully }
}
