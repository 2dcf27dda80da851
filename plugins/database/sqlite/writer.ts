/**
 * The one writer of a SQLite database. All transactions that wait share the next commit; one fsync then serves many, and
 * FULL costs little more than NORMAL. A failing one undoes only itself: what the group wrote is undone, and the group
 * runs once more with a savepoint for each. Savepoints from the start would copy every page that is touched, for each
 * transaction anew, which costs as much as the writing itself.
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

const GROUP_MS = 2 // a group closes after this long, so that nobody waits long for a commit he shares
// Rows that wait in the backlog: then they are put. Of many rows more lie on the same page, which is written once: so
// many come with some thousand creates, and need a quarter of the writing that they need in eight parts.
const MAX_ROWS = 16_384
const IDLE_MS = 250 // without a commit: then the backlog is put
const CAREFUL_GROUPS = 64 // with savepoints, after one failed: failures seldom come alone, and running twice costs more

export interface Writer {
  transact<T>(work: (transaction: Transaction) => MaybePromise<T>, options?: TransactOptions): Promise<T>
  /**
   * Runs `read` as soon as the rows that wait in the backlog are in their tables, before anything else is written. For a
   * statement that they concern.
   */
  afterInsertBuffer<T>(read: () => T): Promise<T>
  /** Resolves when no transaction is open: what a reader on the same handle waits for. Undefined when none is. */
  readonly busy: Promise<void> | undefined
  readonly counters: { readonly transactions: number; readonly groups: number }
  /** Finishes what waits, then refuses more. */
  close(): Promise<void>
}

export const createWriter = (
  handle: BetterSqlite.Database,
  statements: PreparedStatements,
  insertBuffer: InsertBuffer,
  clock: Clock,
  /** Others read by a handle of their own. */
  isReadApart: boolean,
  /** After each BEGIN. Throws when nothing may be written. */
  hold: () => void,
  /** After each COMMIT of a group, before anybody hears of it. Throws when it may not be acknowledged. */
  confirm: () => void,
  /** After each COMMIT; what it returns is waited for before the next. */
  onGroup: () => Promise<void> | undefined,
): Writer => {
  const begin = handle.prepare('BEGIN IMMEDIATE')
  const commit = handle.prepare('COMMIT')
  const rollback = handle.prepare('ROLLBACK')
  const counters = { transactions: 0, groups: 0 }
  let waiting: QueuedTransaction[] = []
  /** Told when the backlog is put, or with why it could not be. */
  let readers: ((failure?: unknown) => void)[] = []
  let idle: AbortSignal | undefined
  let running: Promise<void> | undefined
  let closed = false
  let careful = 0
  /** The group that is open does not wait for the disk. */
  let isRelaxed = false

  const transaction = createJobTransaction(statements, insertBuffer)
  const { runBoldly, runCarefully } = createSqliteGroupCommit(handle, transaction, insertBuffer)

  /** Takes jobs out of the queue, whatever fits in two milliseconds: whatever happens then, none is taken twice. */
  const runWaiting = async (run: (job: QueuedTransaction) => MaybePromise<boolean>): Promise<void> => {
    const started = clock.monotonic()
    for (let first = true; waiting.length > 0 && (first || clock.monotonic() - started < GROUP_MS); first = false) {
      if (isRelaxed && waiting[0]?.isAsynchronous === false) return
      const stands = run(waiting.shift() as QueuedTransaction)
      if (!(stands instanceof Promise ? await stands : stands)) return
    }
  }

  const open = (): void => {
    begin.run()
    hold()
  }

  /** Runs jobs in the transaction that is open; `done` are those whose changes stand in it. */
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
    // A full disk may already have rolled everything back.
    if (handle.inTransaction) rollback.run()
    insertBuffer.restore(mark)
    careful = CAREFUL_GROUPS
    waiting.unshift(...done.splice(0).map(({ job }) => job), failed)
    open()
    return runJobs(done, mark)
  }

  /** For a group of which nobody asks that it waits for the disk. The level cannot change inside it. */
  const lowerLevel = (): void => {
    handle.exec('PRAGMA synchronous = NORMAL')
    isRelaxed = true
  }
  /** Nobody else who writes with this handle may find it lowered. */
  const restoreLevel = (): void => {
    if (isRelaxed) handle.exec('PRAGMA synchronous = FULL')
    isRelaxed = false
  }

  /** What the jobs of a group left, in the same COMMIT. Throws what they are to hear. */
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

  /** In the order they were run in: what is told later about a resource is its later version. */
  const acknowledge = ({ job, value, told }: FinishedTransaction): void => {
    try {
      for (const tell of told) tell()
      job.resolve(value)
    } catch (error) {
      job.reject(error)
    }
  }

  /** One group: everything that waits now, or what fits in the time, and one COMMIT. */
  const runGroup = async (): Promise<void> => {
    const done: FinishedTransaction[] = []
    const mark = insertBuffer.mark()
    let atEnd: BeforeCommitWork | undefined
    let isCommitted = false
    // After thousands of changes each of these steps takes some ten milliseconds.
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
      confirm()
    } catch (error) {
      if (handle.inTransaction) rollback.run()
      // Rows that were committed stay, also when nobody hears of them: a copy of the database has them too.
      if (!isCommitted) insertBuffer.restore(mark)
      atEnd?.finished(false)
      const failure = fromSqlite(error)
      // BEGIN itself failed, or the disk is full: those who wait would meet the same, one after the other.
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
    // Counted from the COMMIT on, whatever those who hear of it do next.
    putWhenIdle()
    await breathe()
    for (const one of done) acknowledge(one)
    const pause = onGroup()
    if (pause !== undefined) await pause
  }

  /** The backlog is on disk already: this COMMIT need not wait for it. */
  const putBacklog = async (): Promise<boolean> => {
    const told = readers
    readers = []
    const mark = insertBuffer.mark()
    let failure: unknown
    try {
      lowerLevel()
      open()
      // Reads of what is committed go on between the parts; whoever writes waits. With one handle reads wait, too.
      const breathe = createPause()
      for (const _part of insertBuffer.flush()) await (isReadApart ? new Promise(setImmediate) : breathe())
      commit.run()
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
    // One turn of the event loop, so that every request that has already arrived joins the first group.
    if (readers.length === 0) await new Promise(setImmediate)
    while (waiting.length > 0 || readers.length > 0 || insertBuffer.rows >= MAX_ROWS) {
      if (readers.length > 0 || insertBuffer.rows >= MAX_ROWS) {
        // Those whose COMMIT made it long are answered first.
        if (readers.length === 0) await new Promise(setImmediate)
        const isPut = await putBacklog()
        if (!isPut && waiting.length + readers.length === 0) break
      }
      if (waiting.length > 0) await runGroup()
      // A batch goes on from one entry to the next in the same turn, and would let nobody else in.
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
      { asynchronousCommit = false }: TransactOptions = {},
    ): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        if (closed) return reject(fromSqlite({ code: 'SQLITE_CANTOPEN' }))
        waiting.push({ work, isAsynchronous: asynchronousCommit, resolve: resolve as (value: unknown) => void, reject })
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
