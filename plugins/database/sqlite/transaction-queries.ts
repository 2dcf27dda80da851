/**
 * Long queries of a transaction. Only the handle of the writer, on the main thread, sees what a transaction has written, and while a
 * query runs there nothing else is answered. So a query runs in a reader thread where nothing was written since BEGIN: nobody else
 * commits meanwhile, so the thread sees the same rows. Either way the writer waits, so the time is limited.
 */
import type BetterSqlite from 'better-sqlite3'
import type { Clock } from '../../../kernel/index.ts'
import type { Sql, SqlParam } from '../contract.ts'
import { QueryCancelled, TransactionQueriesTooLong } from '../errors.ts'
import { RUNS } from './cancellable.ts'
import type { InsertBuffer } from './insert-buffer.ts'
import type { ReadWorkers } from './read-workers.ts'

/** Milliseconds that all of a transaction may take in a thread: changes of others wait. */
const IN_THREAD_MS = 5_000
/** The same on the main thread: all requests wait. */
const ON_MAIN_THREAD_MS = 1_000
const TURN_MS = 20 // milliseconds after which requests that waited, and clients that left, are looked after

export interface TransactionQueriesParts {
  readonly handle: BetterSqlite.Database
  readonly insertBuffer: InsertBuffer
  /** Undefined where no thread can: it opens the file by its name, under which another file may be by now. */
  readonly threads: () => ReadWorkers | undefined
  readonly clock: Clock
}

interface TransactionQuery {
  readonly statement: Sql
  readonly params: readonly SqlParam[]
  readonly signal: AbortSignal | undefined
}

export interface TransactionQueries {
  /** After BEGIN: nothing is written yet. */
  begun(): void
  /** Something was written. */
  wrote(): void
  /** The next transaction begins; `isLong`: it is the first one of its COMMIT, and the insert buffer was flushed for it. */
  start(isLong: boolean): void
  /** True where a query was rejected because the transaction has to run again as a long one. It has written nothing. */
  readonly wantsToBeLong: boolean
  /** `hasWritten`: whether the transaction has. `prepare` makes the statement for the handle of the writer. */
  run<R>(
    query: TransactionQuery,
    hasWritten: boolean,
    prepare: (statement: Sql) => BetterSqlite.Statement,
  ): Promise<R[]>
}

export const createTransactionQueries = (parts: TransactionQueriesParts): TransactionQueries => {
  const { handle, insertBuffer, threads, clock } = parts
  let isClean = false
  let isLong = false
  let wantsToBeLong = false
  // Milliseconds that are left to the transaction.
  let leftInThread = IN_THREAD_MS
  let leftOnMainThread = ON_MAIN_THREAD_MS
  /** When the query on the main thread has to end. */
  let end = Number.POSITIVE_INFINITY

  handle.function(RUNS, { directOnly: true }, () => {
    if (clock.monotonic() >= end) throw TransactionQueriesTooLong()
    return 1
  })

  const inThread = async <R>(readers: ReadWorkers, { statement, params, signal }: TransactionQuery): Promise<R[]> => {
    const started = clock.monotonic()
    const late = clock.deadline(Math.max(0, leftInThread))
    try {
      return await readers.all<R>(statement, params, signal === undefined ? late : AbortSignal.any([signal, late]))
    } catch (error) {
      throw late.aborted && signal?.aborted !== true ? TransactionQueriesTooLong().with({ cause: error }) : error
    } finally {
      leftInThread -= clock.monotonic() - started
    }
  }
  const onMainThread = async <R>(
    { statement, params, signal }: TransactionQuery,
    prepare: (statement: Sql) => BetterSqlite.Statement,
  ): Promise<R[]> => {
    const started = clock.monotonic()
    end = started + leftOnMainThread
    let rows: R[]
    try {
      rows = prepare(statement).all(...params) as R[]
    } finally {
      end = Number.POSITIVE_INFINITY
      leftOnMainThread -= clock.monotonic() - started
    }
    if (clock.monotonic() - started >= TURN_MS) await new Promise(setImmediate)
    if (signal?.aborted) throw QueryCancelled()
    return rows
  }
  return {
    begun() {
      isClean = true
    },
    wrote() {
      isClean = false
    },
    start(long) {
      isLong = long
      wantsToBeLong = false
      leftInThread = IN_THREAD_MS
      leftOnMainThread = ON_MAIN_THREAD_MS
    },
    get wantsToBeLong() {
      return wantsToBeLong
    },
    async run<R>(
      query: TransactionQuery,
      hasWritten: boolean,
      prepare: (statement: Sql) => BetterSqlite.Statement,
    ): Promise<R[]> {
      if (query.signal?.aborted) throw QueryCancelled()
      const readers = threads()
      const isVisible = isClean && !insertBuffer.concerns(query.statement)
      if (readers !== undefined && isVisible) return inThread<R>(readers, query)
      wantsToBeLong = readers !== undefined && !hasWritten && !isLong
      if (wantsToBeLong) throw QueryCancelled()
      return onMainThread<R>(query, prepare)
    },
  }
}
