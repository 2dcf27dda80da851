/** Runs one job in the transaction that is open: as it is, or in a savepoint that can be undone alone. */
import type BetterSqlite from 'better-sqlite3'
import type { Leavings } from '../leavings.ts'
import type { Eventually, Transaction } from '../service.ts'
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

  const runWork = async (job: Job): Promise<Done> => {
    transaction.start()
    const value = await job.work(transaction)
    return { job, value, left: transaction.left }
  }

  /** One job as it is; false when it failed with changes made, which cannot be undone without undoing the group. */
  const runBoldly = async (job: Job, done: Done[]): Promise<boolean> => {
    try {
      done.push(await runWork(job))
      return true
    } catch (error) {
      if (transaction.wrote) return false
      job.reject(fromSqlite(error))
      return true
    }
  }

  /** One job in its savepoint; in `done` when its changes stand and wait for the commit. */
  const runCarefully = async (job: Job, done: Done[]): Promise<void> => {
    savepoint.run()
    const mark = backlog.mark()
    try {
      const one = await runWork(job)
      release.run()
      done.push(one)
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
