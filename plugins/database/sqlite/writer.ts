/**
 * The only writer of a SQLite database. All transactions that wait share the next commit: one fsync serves many, so
 * FULL costs little more than NORMAL. When one fails after it wrote, the whole group is rolled back and runs again with
 * a savepoint for each transaction, so that only the failing one is rolled back. Savepoints are not used from the start
 * because they copy every touched page once more for each transaction, which costs as much as the writing itself.
 */
import type BetterSqlite from 'better-sqlite3'
import { type Clock, createPause } from '../../../kernel/index.ts'
import { BeforeCommitWork } from '../before-commit-work.ts'
import { chain, type MaybePromise, type Transaction, type TransactOptions } from '../contract.ts'
import { forReader, fromSqlite } from './failure.ts'
import { createSqliteGroupCommit, type FinishedTransaction, type QueuedTransaction } from './group-commit.ts'
import { createJobTransaction } from './group-transaction.ts'
import type { InsertBuffer, InsertBufferSavepoint } from './insert-buffer.ts'
import type { PreparedStatements } from './statements.ts'

const GROUP_MS = 2 // milliseconds after which a group commits, so that no transaction waits long for others
// Rows in the insert buffer at which it is flushed. The more rows, the more of them share a page, which is written
// once: this many rows, of some thousand creates, need a quarter of the writing of eight smaller flushes.
const MAX_ROWS = 16_384
const IDLE_MS = 250 // milliseconds without a commit after which the insert buffer is flushed
// groups that use savepoints after a failure: failures often come together, and running a group twice costs more
const CAREFUL_GROUPS = 64

export interface Writer {
  transact<T>(work: (transaction: Transaction) => MaybePromise<T>, options?: TransactOptions): Promise<T>
  /**
   * Flushes the insert buffer before anything else is written, then runs `read`. For a statement that the buffer
   * concerns.
   */
  afterInsertBuffer<T>(read: () => T): Promise<T>
  /**
   * Resolves when no transaction is open, which a reader on the same handle has to wait for. Undefined when none is.
   */
  readonly busy: Promise<void> | undefined
  readonly counters: { readonly transactions: number; readonly groups: number }
  /** Finishes waiting transactions, then refuses more. */
  close(): Promise<void>
}

export const createWriter = (
  handle: BetterSqlite.Database,
  statements: PreparedStatements,
  insertBuffer: InsertBuffer,
  clock: Clock,
  /** True when reads have a handle of their own. */
  isReadApart: boolean,
  /** Called after each BEGIN. Throws when nothing may be written. */
  hold: () => void,
  /**
   * Called after each COMMIT of a group, before callers are answered. Throws when the commit may not be acknowledged.
   */
  confirm: () => void,
  /** Called after each COMMIT; the next one waits for a promise that it returns. */
  onGroup: () => Promise<void> | undefined,
  /** Called for each COMMIT of a group, when its callers are about to be answered. */
  onDone: (done: readonly FinishedTransaction[]) => void,
): Writer => {
  const begin = handle.prepare('BEGIN IMMEDIATE')
  const commit = handle.prepare('COMMIT')
  const rollback = handle.prepare('ROLLBACK')
  const counters = { transactions: 0, groups: 0 }
  let waiting: QueuedTransaction[] = []
  /** Callbacks for when the insert buffer is flushed, or has failed to be. */
  let readers: ((failure?: unknown) => void)[] = []
  let idle: AbortSignal | undefined
  let running: Promise<void> | undefined
  let closed = false
  let careful = 0
  /** True when the COMMIT of the open group does not wait for the disk. */
  let isRelaxed = false

  const transaction = createJobTransaction(statements, insertBuffer)
  const { runBoldly, runCarefully } = createSqliteGroupCommit(handle, transaction, insertBuffer)

  /**
   * Takes jobs from the queue and runs them for up to two milliseconds. A job is removed before it runs, so none runs
   * twice.
   */
  const runWaiting = async (run: (job: QueuedTransaction) => MaybePromise<boolean>): Promise<void> => {
    const started = clock.monotonic()
    for (let first = true; waiting.length > 0 && (first || clock.monotonic() - started < GROUP_MS); first = false) {
      if (isRelaxed && waiting[0]?.isAsynchronous === false) return
      // A long one begins a group of its own: nobody in front of it waits for its COMMIT, and the insert buffer is empty.
      if (!first && waiting[0]?.isLong) return
      const stands = run(waiting.shift() as QueuedTransaction)
      if (!(stands instanceof Promise ? await stands : stands)) return
    }
  }

  const open = (): void => {
    begin.run()
    hold()
  }

  /** Runs jobs in the open transaction; `done` are those whose changes wait for the commit. */
  const runJobs = async (done: FinishedTransaction[], mark: InsertBufferSavepoint): Promise<void> => {
    if (careful > 0) {
      careful -= 1
      return runWaiting((job) => runCarefully(job, done).then(() => true))
    }
    let failed: QueuedTransaction | undefined
    await runWaiting((job) =>
      chain(runBoldly(job, done), (stands) => {
        if (!stands) failed = job
        return stands
      }),
    )
    if (failed === undefined) return
    // On a full disk SQLite may have rolled the transaction back already.
    if (handle.inTransaction) rollback.run()
    insertBuffer.restore(mark)
    careful = CAREFUL_GROUPS
    waiting.unshift(...done.splice(0).map(({ job }) => job), failed)
    open()
    return runJobs(done, mark)
  }

  /**
   * Does not wait for the disk, for a group in which every job allows that. The level cannot change inside a
   * transaction.
   */
  const lowerLevel = (): void => {
    handle.exec('PRAGMA synchronous = NORMAL')
    isRelaxed = true
  }
  /** Restores the level for other users of this handle. */
  const restoreLevel = (): void => {
    if (isRelaxed) handle.exec('PRAGMA synchronous = FULL')
    isRelaxed = false
  }

  /** Runs the work that jobs registered with `beforeCommit`, in the same COMMIT. Throws the error for their callers. */
  const closeJobs = async (done: readonly FinishedTransaction[]): Promise<BeforeCommitWork> => {
    const all = new BeforeCommitWork()
    for (const one of done) if (one.left !== undefined) all.take(one.left)
    if (all.isEmpty) return all
    try {
      await all.run(transaction)
      return all
    } catch (error) {
      all.finished(false)
      throw all.refuse(error)
    }
  }

  /** Called in the order in which the jobs ran, so that caches hear of the later version of a resource last. */
  const acknowledge = ({ job, value, told }: FinishedTransaction): void => {
    try {
      for (const tell of told) tell()
      job.resolve(value)
    } catch (error) {
      job.reject(error)
    }
  }

  /** Runs one group: all jobs that wait, or those that fit in the time, with one COMMIT. */
  const runGroup = async (): Promise<void> => {
    const done: FinishedTransaction[] = []
    const mark = insertBuffer.mark()
    let atEnd: BeforeCommitWork | undefined
    let isCommitted = false
    // After thousands of changes each of these steps takes some ten milliseconds; between them the event loop runs.
    const breathe = createPause()
    try {
      if (waiting.every((job) => job.isAsynchronous)) lowerLevel()
      open()
      await runJobs(done, mark)
      await breathe()
      atEnd = await closeJobs(done)
      insertBuffer.persist()
      await breathe()
      commit.run()
      isCommitted = true
      insertBuffer.committed()
      confirm()
    } catch (error) {
      if (handle.inTransaction) rollback.run()
      // Committed rows stay, also when they could not be acknowledged: a copy of the database has them too.
      if (!isCommitted) insertBuffer.restore(mark)
      atEnd?.finished(false)
      const failure = fromSqlite(error)
      // BEGIN itself failed, or the disk is full: the waiting jobs would fail in the same way.
      for (const job of waiting) job.reject(failure)
      waiting = []
      for (const { job } of done) job.reject(failure)
      return
    } finally {
      restoreLevel()
    }
    atEnd.finished(true)
    counters.groups += 1
    counters.transactions += done.length
    // The idle time starts at the COMMIT, whatever its callers do next.
    putWhenIdle()
    await breathe()
    for (const one of done) acknowledge(one)
    onDone(done)
    const pause = onGroup()
    if (pause !== undefined) await pause
  }

  /** Flushes the insert buffer. Its rows are on disk already, so this COMMIT does not wait for the disk. */
  const putBacklog = async (): Promise<boolean> => {
    const told = readers
    readers = []
    const mark = insertBuffer.mark()
    let failure: unknown
    try {
      lowerLevel()
      open()
      // Reads of committed rows continue between the parts; writers wait. With a single handle reads wait, too.
      const breathe = createPause()
      for (const _part of insertBuffer.flush()) await (isReadApart ? new Promise(setImmediate) : breathe())
      commit.run()
      insertBuffer.committed()
    } catch (error) {
      if (handle.inTransaction) rollback.run()
      insertBuffer.restore(mark)
      failure = forReader(fromSqlite(error))
    } finally {
      restoreLevel()
    }
    for (const tell of told) tell(failure)
    const pause = onGroup()
    if (pause !== undefined) await pause
    return failure === undefined
  }

  const drain = async (): Promise<void> => {
    // Waits for one turn of the event loop, so that requests that have already arrived join the first group.
    if (readers.length === 0) await new Promise(setImmediate)
    while (waiting.length > 0 || readers.length > 0 || insertBuffer.rows >= MAX_ROWS) {
      // While a long transaction is open nothing can be put into the tables, so searches would wait for all of it.
      const isBeforeLong = insertBuffer.rows > 0 && waiting[0]?.isLong === true
      if (readers.length > 0 || isBeforeLong || insertBuffer.rows >= MAX_ROWS) {
        // Callers of the COMMIT that filled the buffer are answered first.
        if (readers.length === 0) await new Promise(setImmediate)
        const isPut = await putBacklog()
        if (!isPut && waiting.length + readers.length === 0) break
      }
      if (waiting.length > 0) await runGroup()
      // A batch continues from one entry to the next synchronously, and would block other requests.
      if (waiting.length > 0) await new Promise(setImmediate)
    }
    running = undefined
    putWhenIdle()
  }
  const putWhenIdle = (): void => {
    if (idle !== undefined || closed || insertBuffer.rows === 0) return
    const { groups } = counters
    idle = clock.deadline(IDLE_MS)
    const put = (): void => {
      idle = undefined
      if (closed || insertBuffer.rows === 0) return
      if (counters.groups === groups) {
        readers.push(() => undefined)
        running ??= drain()
      } else putWhenIdle()
    }
    idle.addEventListener('abort', put, { once: true })
  }

  return {
    transact<T>(
      work: (transaction: Transaction) => MaybePromise<T>,
      { asynchronousCommit = false, isLong = false }: TransactOptions = {},
    ): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        if (closed) return reject(fromSqlite({ code: 'SQLITE_CANTOPEN' }))
        const answer = { resolve: resolve as (value: unknown) => void, reject }
        waiting.push({ work, isAsynchronous: asynchronousCommit, isLong, ...answer })
        running ??= drain()
      })
    },
    afterInsertBuffer<T>(read: () => T): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        readers.push((failure) => {
          try {
            if (failure !== undefined) throw failure
            resolve(read())
          } catch (error) {
            reject(error)
          }
        })
        running ??= drain()
      })
    },
    get busy() {
      return handle.inTransaction ? running : undefined
    },
    counters,
    async close() {
      closed = true
      await running
      if (insertBuffer.rows > 0) await putBacklog()
    },
  }
}
