/**
 * Runs the transactions that wait as one group with one COMMIT. When one fails after it wrote, the whole group is rolled
 * back and runs again with a savepoint for each transaction, so that only the failing one is rolled back. Savepoints are not
 * used from the start because they copy every touched page once more for each transaction, which costs as much as the
 * writing itself.
 */
import { type Clock, createPause } from '../../../kernel/index.ts'
import { BeforeCommitWork } from '../before-commit-work.ts'
import { chain, type MaybePromise, type Transaction } from '../contract.ts'
import { fromSqlite } from './failure.ts'
import type { createSqliteGroupCommit, FinishedTransaction, QueuedTransaction } from './group-commit.ts'
import type { InsertBuffer, InsertBufferSavepoint } from './insert-buffer.ts'
import type { SqliteTransaction } from './sqlite-transaction.ts'

const GROUP_MS = 2 // milliseconds after which a group commits, so that no transaction waits long for others
const GROUP_MS_IF_READS_MAY_WAIT = 100 // the same for transactions that say so, such as those of an import
// groups that use savepoints after a failure: failures often come together, and running a group twice costs more
const CAREFUL_GROUPS = 64

export interface CommitGroupParts {
  /** Transactions that wait; those that a group takes are removed. */
  readonly waiting: QueuedTransaction[]
  readonly open: SqliteTransaction
  /** For the work before COMMIT. */
  readonly transaction: Transaction
  readonly jobs: ReturnType<typeof createSqliteGroupCommit>
  readonly insertBuffer: InsertBuffer
  readonly clock: Clock
  /** Called after COMMIT, before callers are answered. Throws when the commit may not be acknowledged. */
  readonly confirm: () => void
  /** Called after that with what was committed. */
  readonly onCommitted: (done: readonly FinishedTransaction[]) => void
  /** Called when the callers have been answered. */
  readonly onDone: (done: readonly FinishedTransaction[]) => void
  /** Called last; the next group waits for a promise that it returns. */
  readonly onGroup: () => Promise<void> | undefined
}

/**
 * Calls what a transaction gave to `afterCommit`, and returns what answers its caller. Called in the order in which the jobs
 * ran, so that caches hear of the later version of a resource last.
 */
const notify = ({ job, value, listeners }: FinishedTransaction): (() => void) => {
  try {
    for (const listener of listeners) listener()
    return () => job.resolve(value)
  } catch (error) {
    return () => job.reject(error)
  }
}

/** Returns a function that runs one group. It answers every caller, and does not reject. */
export const createCommitGroup = (parts: CommitGroupParts): (() => Promise<void>) => {
  const { waiting, open, jobs, insertBuffer, clock } = parts
  let careful = 0

  /**
   * Takes jobs from the queue and runs them for up to two milliseconds, or longer where reads may wait. A job is removed
   * before it runs, so none runs twice.
   */
  const runWaiting = async (run: (job: QueuedTransaction) => MaybePromise<boolean>): Promise<void> => {
    const started = clock.monotonic()
    for (let first = true; waiting.length > 0; first = false) {
      const { isAsynchronous, isLong, readsMayWait } = waiting[0] as QueuedTransaction
      if (open.isRelaxed && !isAsynchronous) return
      if (!first && clock.monotonic() - started >= (readsMayWait ? GROUP_MS_IF_READS_MAY_WAIT : GROUP_MS)) return
      // A long one begins a group of its own: nobody in front of it waits for its COMMIT, and the insert buffer is empty.
      if (!first && isLong && !readsMayWait) return
      const stands = run(waiting.shift() as QueuedTransaction)
      if (!(stands instanceof Promise ? await stands : stands)) return
    }
  }

  /** Runs jobs in the open transaction; `done` are those whose changes wait for the commit. */
  const runJobs = async (done: FinishedTransaction[], mark: InsertBufferSavepoint): Promise<void> => {
    if (careful > 0) {
      careful -= 1
      return runWaiting((job) => jobs.runCarefully(job, done).then(() => true))
    }
    let failed: QueuedTransaction | undefined
    await runWaiting((job) =>
      chain(jobs.runBoldly(job, done), (stands) => {
        if (!stands) failed = job
        return stands
      }),
    )
    if (failed === undefined) return
    open.rollback()
    insertBuffer.restore(mark)
    careful = CAREFUL_GROUPS
    waiting.unshift(...done.splice(0).map(({ job }) => job), failed)
    open.begin()
    return runJobs(done, mark)
  }

  /** Runs the work that jobs registered with `beforeCommit`, in the same COMMIT. Throws the error for their callers. */
  const closeJobs = async (done: readonly FinishedTransaction[]): Promise<BeforeCommitWork> => {
    const all = new BeforeCommitWork()
    for (const one of done) if (one.left !== undefined) all.take(one.left)
    if (all.isEmpty) return all
    try {
      await all.run(parts.transaction)
      return all
    } catch (error) {
      all.finished(false)
      throw all.refuse(error)
    }
  }

  return async () => {
    const done: FinishedTransaction[] = []
    const mark = insertBuffer.mark()
    let atEnd: BeforeCommitWork | undefined
    let isCommitted = false
    // After thousands of changes each of these steps takes some ten milliseconds; between them the event loop runs.
    const pause = createPause()
    try {
      if (waiting.every((job) => job.isAsynchronous)) open.lowerLevel()
      open.begin()
      await runJobs(done, mark)
      await pause()
      atEnd = await closeJobs(done)
      insertBuffer.persist()
      await pause()
      open.commit()
      isCommitted = true
      insertBuffer.committed()
      parts.confirm()
    } catch (error) {
      open.rollback()
      // Committed rows stay, also when they could not be acknowledged: a copy of the database has them too.
      if (!isCommitted) insertBuffer.restore(mark)
      atEnd?.finished(false)
      const failure = fromSqlite(error)
      // BEGIN itself failed, or the disk is full: the waiting jobs would fail in the same way.
      for (const job of waiting.splice(0)) job.reject(failure)
      for (const { job } of done) job.reject(failure)
      return
    } finally {
      open.restoreLevel()
    }
    // In the same turn as COMMIT: whoever finds a new version by its rows must not find an older one in a cache.
    const answers = done.map(notify)
    atEnd.finished(true)
    parts.onCommitted(done)
    await pause()
    for (const answer of answers) answer()
    parts.onDone(done)
    const next = parts.onGroup()
    if (next !== undefined) await next
  }
}
