/**
 * The only writer of a SQLite database. All transactions that wait share the next commit: one fsync serves many, so
 * FULL costs little more than NORMAL.
 */
import { createPause } from '../../../kernel/index.ts'
import type { MaybePromise, Transaction, TransactOptions } from '../contract.ts'
import { createCommitGroup } from './commit-group.ts'
import { forReader, fromSqlite } from './failure.ts'
import { createSqliteGroupCommit, type FinishedTransaction, type QueuedTransaction } from './group-commit.ts'
import { createJobTransaction } from './group-transaction.ts'
import { createSqliteTransaction } from './sqlite-transaction.ts'
import type { PreparedStatements } from './statements.ts'
import { createTransactionQueries, type TransactionQueriesParts } from './transaction-queries.ts'

interface Bounds {
  /**
   * Rows in the insert buffer at which it is flushed. The more rows, the more of them share a page, which is written
   * once: 16,384 rows, of some thousand creates, need a quarter of the writing of eight smaller flushes.
   */
  readonly rows: number
  /**
   * Rows of one group that are inserted into their tables at once, 4,096 in about ten milliseconds. Usual groups have fewer.
   * All rows of a large resource in the buffer would take as long after COMMIT as before, with searches waiting for them.
   */
  readonly rowsOfGroup: number
}

const USUAL: Bounds = { rows: 16_384, rowsOfGroup: 4_096 }
const READS_MAY_WAIT: Bounds = { rows: 65_536, rowsOfGroup: 65_536 }
const boundsFor = ({ readsMayWait }: QueuedTransaction): Bounds => (readsMayWait ? READS_MAY_WAIT : USUAL)
const IDLE_MS = 250 // milliseconds without a commit after which the insert buffer is flushed

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
  /** False once the disk has failed to store a commit; then transactions are refused. */
  readonly isSynced: boolean
  readonly counters: { readonly transactions: number; readonly groups: number }
  /** Finishes waiting transactions, then refuses more. */
  close(): Promise<void>
}

export interface WriterParts extends TransactionQueriesParts {
  /** With the marks of `eachRow` replaced: see cancellable.ts. */
  readonly statements: PreparedStatements
  /** True when reads have a handle of their own. */
  readonly isReadApart: boolean
  /** Called after each BEGIN. Throws when nothing may be written. */
  readonly hold: () => void
  /** Called after each COMMIT of a group, before callers are answered. Throws when the commit may not be acknowledged. */
  readonly confirm: () => void
  /** Called after each COMMIT; the next one waits for a promise that it returns. */
  readonly onGroup: () => Promise<void> | undefined
  /** Called for each COMMIT of a group, when its callers have been answered. */
  readonly onDone: (done: readonly FinishedTransaction[]) => void
}

type Reader = (failure?: unknown) => void

const toReader =
  <T>(read: () => T, resolve: (value: T) => void, reject: (cause: unknown) => void): Reader =>
  (failure) => {
    try {
      if (failure !== undefined) throw failure
      resolve(read())
    } catch (error) {
      reject(error)
    }
  }

/** Makes what runs transactions on the handle, one after the other. They get the same `Transaction` object. */
const createJobs = (
  { handle, statements, insertBuffer, hold, ...parts }: WriterParts,
  waiting: QueuedTransaction[],
) => {
  const queries = createTransactionQueries({ ...parts, handle, insertBuffer })
  const open = createSqliteTransaction(handle, () => {
    hold()
    queries.begun()
  })
  const transaction = createJobTransaction(statements, insertBuffer, queries)
  const jobs = createSqliteGroupCommit(handle, transaction, insertBuffer, (job) => void waiting.unshift(job))
  return { open, transaction, jobs }
}

export const createWriter = (parts: WriterParts): Writer => {
  const { handle, insertBuffer, clock, onGroup } = parts
  const waiting: QueuedTransaction[] = []
  const { open, transaction, jobs } = createJobs(parts, waiting)
  const counters = { transactions: 0, groups: 0 }
  /** Callbacks for when the insert buffer is flushed, or has failed to be. */
  let readers: Reader[] = []
  let idle: AbortSignal | undefined
  let running: Promise<void> | undefined
  let closed = false
  let bounds = USUAL

  const runGroup = createCommitGroup({
    ...{ waiting, open, transaction, jobs, insertBuffer, clock, onGroup },
    ...{ confirm: parts.confirm, onDone: parts.onDone },
    onCommitted(done) {
      counters.groups += 1
      counters.transactions += done.length
      // The idle time starts at the COMMIT, whatever its callers do next.
      flushWhenIdle()
    },
  })

  /** Flushes the insert buffer. Its rows are on disk already, so this COMMIT does not wait for the disk. */
  const flush = async (): Promise<boolean> => {
    const waitingReaders = readers
    readers = []
    const mark = insertBuffer.mark()
    let failure: unknown
    try {
      open.lowerLevel()
      open.begin()
      // Reads of committed rows continue between the parts; writers wait. With a single handle reads wait, too.
      const pause = createPause()
      for (const _part of insertBuffer.flush()) await (parts.isReadApart ? new Promise(setImmediate) : pause())
      open.commit()
      insertBuffer.committed()
    } catch (error) {
      open.rollback()
      insertBuffer.restore(mark)
      failure = forReader(fromSqlite(error))
    } finally {
      open.restoreLevel()
    }
    for (const answer of waitingReaders) answer(failure)
    await onGroup()
    return failure === undefined
  }

  const drain = async (): Promise<void> => {
    // Waits for one turn of the event loop, so that requests that have already arrived join the first group.
    if (readers.length === 0) await new Promise(setImmediate)
    while (waiting.length > 0 || readers.length > 0 || insertBuffer.rows >= bounds.rows) {
      const [next] = waiting
      if (next !== undefined) bounds = boundsFor(next)
      // While a long transaction is open nothing can be put into the tables, so searches would wait for all of it.
      const isBeforeLong = insertBuffer.rows > 0 && next?.isLong === true && !next.readsMayWait
      if (readers.length > 0 || isBeforeLong || insertBuffer.rows >= bounds.rows) {
        // Callers of the COMMIT that filled the buffer are answered first.
        if (readers.length === 0) await new Promise(setImmediate)
        const isFlushed = await flush()
        if (!isFlushed && waiting.length + readers.length === 0) break
      }
      insertBuffer.bound(bounds.rowsOfGroup)
      if (waiting.length > 0) await runGroup()
      // A batch continues from one entry to the next synchronously, and would block other requests.
      if (waiting.length > 0) await new Promise(setImmediate)
    }
    running = undefined
    flushWhenIdle()
  }
  const flushWhenIdle = (): void => {
    if (idle !== undefined || closed || insertBuffer.rows === 0) return
    const { groups } = counters
    idle = clock.deadline(IDLE_MS)
    const flushIfIdle = (): void => {
      idle = undefined
      if (closed || insertBuffer.rows === 0) return
      if (counters.groups === groups) {
        readers.push(() => undefined)
        running ??= drain()
      } else flushWhenIdle()
    }
    idle.addEventListener('abort', flushIfIdle, { once: true })
  }

  return {
    get isSynced() {
      return open.isSynced
    },
    transact<T>(
      work: (transaction: Transaction) => MaybePromise<T>,
      { asynchronousCommit = false, isLong = false, readsMayWait = false }: TransactOptions = {},
    ): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        if (closed) return reject(fromSqlite({ code: 'SQLITE_CANTOPEN' }))
        const answer = { resolve: resolve as (value: unknown) => void, reject }
        waiting.push({ work, isAsynchronous: asynchronousCommit, isLong, readsMayWait, ...answer })
        running ??= drain()
      })
    },
    afterInsertBuffer<T>(read: () => T): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        readers.push(toReader(read, resolve, reject))
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
      if (insertBuffer.rows > 0) await flush()
    },
  }
}
