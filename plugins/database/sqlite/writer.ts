/**
 * The one writer of a SQLite database. All transactions that wait share the next commit, each in a savepoint of its
 * own, so that a failing one undoes only itself; one fsync then serves many, and FULL costs little more than NORMAL.
 */
import type BetterSqlite from 'better-sqlite3'
import type { Clock } from '../../../kernel/index.ts'
import { Leavings } from '../leavings.ts'
import type { Eventually, Param, Sql, Transaction } from '../service.ts'
import { fromSqlite } from './failure.ts'
import type { Statements } from './statements.ts'

const GROUP_MS = 2 // a group closes after this long, so that nobody waits long for a commit he shares

interface Job {
  readonly work: (transaction: Transaction) => Eventually<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

export interface Writer {
  transact<T>(work: (transaction: Transaction) => Eventually<T>): Promise<T>
  /** Resolves when no transaction is open: what a reader on the same handle waits for. Undefined when none is. */
  readonly busy: Promise<void> | undefined
  readonly counters: { readonly transactions: number; readonly groups: number }
  /** Finishes what waits, then refuses more. */
  close(): Promise<void>
}

export const createWriter = (
  handle: BetterSqlite.Database,
  statements: Statements,
  clock: Clock,
  /** After each COMMIT; what it returns is waited for before the next. */
  onGroup: () => Promise<void> | undefined,
): Writer => {
  const begin = handle.prepare('BEGIN IMMEDIATE')
  const commit = handle.prepare('COMMIT')
  const rollback = handle.prepare('ROLLBACK')
  const savepoint = handle.prepare('SAVEPOINT job')
  const release = handle.prepare('RELEASE job')
  const undo = handle.prepare('ROLLBACK TO job')
  const counters = { transactions: 0, groups: 0 }
  let waiting: Job[] = []
  let running: Promise<void> | undefined
  let closed = false
  // What the job at work has left, and what the jobs of the group have that stand.
  let own: Leavings | undefined
  let left = new Leavings()

  const transaction: Transaction = {
    leave(closing, item) {
      own ??= new Leavings()
      own.add(closing, item)
    },
    get: <R>(statement: Sql, params: readonly Param[]) => statements.of(statement).get(...params) as R | undefined,
    all: <R>(statement: Sql, params: readonly Param[]) => statements.of(statement).all(...params) as R[],
    run: (statement, params) => void statements.of(statement).run(...params),
  }

  const forget = (): void => {
    own = undefined
  }

  /** One job in its savepoint; in `done` when its changes stand and wait for the commit. */
  const runJob = async (job: Job, done: { job: Job; value: unknown }[]): Promise<void> => {
    savepoint.run()
    forget()
    try {
      const value = await job.work(transaction)
      release.run()
      if (own !== undefined) left.take(own)
      done.push({ job, value })
    } catch (error) {
      // A full disk may already have rolled everything back; then the whole group is lost and must hear so.
      if (!handle.inTransaction) {
        job.reject(fromSqlite(error))
        throw error
      }
      undo.run()
      release.run()
      job.reject(fromSqlite(error))
    }
  }

  /** What the jobs of the group left, in the same COMMIT. Throws what its jobs are to hear. */
  const closeGroup = async (): Promise<void> => {
    try {
      await left.close(transaction)
    } catch (error) {
      throw left.refuse(error)
    }
  }

  /** One group: everything that waits now, or what fits in two milliseconds, and one COMMIT. */
  const runGroup = async (): Promise<void> => {
    const done: { job: Job; value: unknown }[] = []
    left = new Leavings()
    try {
      begin.run()
      const started = clock.monotonic()
      for (let first = true; waiting.length > 0 && (first || clock.monotonic() - started < GROUP_MS); first = false)
        // Out of the queue before it runs: whatever happens, it never runs twice.
        await runJob(waiting.shift() as Job, done)
      if (!left.isEmpty) await closeGroup()
      commit.run()
    } catch (error) {
      if (handle.inTransaction) rollback.run()
      if (!left.isEmpty) left.closed(false)
      const failure = fromSqlite(error)
      // BEGIN itself failed, or the disk is full: those who wait would meet the same, one after the other.
      for (const job of waiting) job.reject(failure)
      waiting = []
      for (const { job } of done) job.reject(failure)
      return
    }
    if (!left.isEmpty) left.closed(true)
    counters.groups += 1
    counters.transactions += done.length
    for (const { job, value } of done) job.resolve(value)
    const pause = onGroup()
    if (pause !== undefined) await pause
  }

  const drain = async (): Promise<void> => {
    // One turn of the event loop, so that every request that has already arrived joins the first group.
    await new Promise(setImmediate)
    while (waiting.length > 0) await runGroup()
    running = undefined
  }

  return {
    transact<T>(work: (transaction: Transaction) => Eventually<T>): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        if (closed) return reject(fromSqlite({ code: 'SQLITE_CANTOPEN' }))
        waiting.push({ work, resolve: resolve as (value: unknown) => void, reject })
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
    },
  }
}
