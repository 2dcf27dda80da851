/**
 * The contract between the database and its users, the same on sqlite, memory and postgres: statements and
 * transactions.
 */
import type { MikroORM } from '@mikro-orm/core'
import { defineService, type ServerError } from '../../kernel/index.ts'
import type { FeedStatus } from './feed/change-feed.ts'
import type { Publication } from './feed/publication.ts'

/** A statement. It is prepared at first use and cached: create it at module level, never per request. */
export interface Sql {
  /** Short and unique: names the prepared statement on PostgreSQL and the line in a plan. */
  readonly name: string
  readonly sqlite: string
  readonly postgres: string
}

export type SqlScalar = string | number | null

export type SqlParam = SqlScalar | Uint8Array

/** SQLite answers synchronously, PostgreSQL with a promise. Callers `await`, which is cheap for a plain value. */
export type MaybePromise<T> = T | Promise<T>

/**
 * Passes the value to `next`, synchronously unless it is a promise. For reads, searches and the write path: with an `await` at
 * each step a create takes 8 % more CPU.
 */
export const chain = <T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> =>
  value instanceof Promise ? value.then(next) : next(value)

/**
 * `sql('fhir.read', 'SELECT … WHERE id = ?')` makes a statement. Parameters are `?` in order; they are numbered for
 * PostgreSQL here. Give two texts where the dialects differ.
 */
export const sql = (name: string, text: string | { readonly sqlite: string; readonly postgres: string }): Sql => {
  const { sqlite, postgres } = typeof text === 'string' ? { sqlite: text, postgres: text } : text
  let count = 0
  const numbered = postgres.replace(/'[^']*'|\?/g, (part) => {
    if (part !== '?') return part
    count += 1
    return `$${count}`
  })
  return Object.freeze({ name, sqlite, postgres: numbered })
}

/** An insert whose rows may be inserted later, those of many transactions at once: see `Transaction.insertDeferred`. */
export interface DeferredInsert {
  readonly table: string
  /** Number of parameters of a row; the first two begin its key. */
  readonly width: number
  /** Statements that insert 1, 2, … rows. Inserting a row twice must have the same effect as inserting it once. */
  readonly counts: readonly Sql[]
}

/**
 * Work right before COMMIT, done once for all transactions that share the COMMIT, in one order for all. Created once,
 * in setup.
 */
export interface CommitParticipant<T> {
  /**
   * Gets the `items` of all transactions that share this COMMIT, in the order of registration. Calls do not overlap:
   * the next one comes when the outcome of this one is known. An error rolls back all of these transactions.
   */
  beforeCommit(transaction: Transaction, items: readonly T[]): MaybePromise<void>
  /** The outcome: false when the transactions were rolled back, or when the outcome is not known. */
  finished(committed: boolean): void
  /** The error for the callers whose transactions were rolled back because `beforeCommit` failed. */
  refuse(cause: unknown): ServerError
}

/**
 * How a transaction has ended. `unknown`: its connection was lost during COMMIT, so it may be committed, now or in a moment;
 * no later than with the next epoch of the writer lease that is decided.
 */
export type Outcome = 'committed' | 'undone' | 'unknown'

/** Runs statements one after the other. */
export interface StatementRunner {
  get<R>(statement: Sql, params: readonly SqlParam[]): MaybePromise<R | undefined>
  /** Runs a statement without a result. PostgreSQL may send it together with later ones, at the latest with COMMIT. */
  run(statement: Sql, params: readonly SqlParam[]): MaybePromise<void>
}

/** One open transaction. A statement sees the effects of earlier ones of the same transaction. */
export interface Transaction extends StatementRunner {
  /** Registers an item for the time before COMMIT. It is discarded if the transaction is rolled back. */
  beforeCommit<T>(participant: CommitParticipant<T>, item: T): void
  /**
   * Calls `listener` once this transaction is committed, before `transact` resolves. Used to update caches: on SQLite nothing
   * is read from the database between COMMIT and the call. Calls come in the order in which transactions that write the same
   * rows were committed. `transact` rejects with what it throws.
   */
  afterCommit(listener: () => void): void
  /**
   * Calls `listener` once, when this transaction has ended, before those of `afterCommit` and before `transact` resolves
   * or rejects. It must not throw. Where `work` runs again, each run is a transaction with an end of its own. On SQLite,
   * which keeps nothing from reading between the statements and the end of a transaction, nothing is called.
   */
  afterEnd(listener: (outcome: Outcome) => void): void
  /**
   * Publishes to every server of the database once this transaction is committed: see `ChangeFeed`. It is discarded if the
   * transaction is rolled back, or is `shared`. The COMMIT waits for the disk, whatever `asynchronousCommit` says.
   */
  publish(publication: Publication): void
  /**
   * Inserts rows, `params` of one after the other, at the latest when a statement that names their table runs here or
   * by `Database.get`, `all` or `longQuery`. On SQLite they are stored with COMMIT in the insert buffer, as durable as
   * other rows, and put into their tables later, many at once, so that a page they share is written once. PostgreSQL
   * inserts them immediately, because several processes write there. Only for rows that no earlier row depends on.
   * `last`: the last parameter of all these rows, which is then left out of `params`.
   */
  insertDeferred(insert: DeferredInsert, params: readonly SqlScalar[], last?: SqlScalar): MaybePromise<void>
  all<R>(statement: Sql, params: readonly SqlParam[]): MaybePromise<R[]>
  /**
   * A query that may take longer than a millisecond. SQLite runs it in a thread while nothing was written in this COMMIT, and else on
   * the main thread, and limits the time of all such queries of a transaction: fails with `TransactionQueriesTooLong`. `work` may run
   * again for that. Rejects when `signal` is aborted before it begins or, in a thread of SQLite, while it runs.
   */
  longQuery<R>(statement: Sql, params: readonly SqlParam[], signal?: AbortSignal): Promise<R[]>
  /**
   * Takes the lock of this name until the end of this transaction, so that no other transaction of any process gets
   * past here; with `isShared` others that share it do. SQLite has one writer and never waits. When the lock cannot be had in time it fails with an error for
   * which `isHeldUp` is true.
   */
  hold(name: string, isShared?: boolean): MaybePromise<void>
  /**
   * Waits for transactions of this process that called it with the same name and have not ended. Use it before a
   * statement that would wait for them in PostgreSQL and meanwhile occupy a session. Does nothing once this transaction
   * has run a statement with a result: it could then hold locks that the others wait for. Fails as `hold` does.
   */
  queue(name: string): MaybePromise<void>
  /**
   * Adds a check to the transaction, a statement that fails where an expectation does not hold, instead of querying
   * first. Returns true when the check was added. When it fails, the transaction is rolled back and `work` runs again;
   * this then returns false, and `work` has to query. It also returns false where a query is as cheap.
   */
  assertOptimistically(check: Sql, params: readonly SqlParam[]): boolean
}

/** A connection that only reads. */
export interface ThreadReader {
  all<R>(statement: Sql, params: readonly SqlParam[]): MaybePromise<R[]>
}

/** Plain data that says to a worker thread which database to open. */
export interface ThreadReaderLocation {
  readonly path: string
}

export interface TransactOptions {
  /**
   * COMMIT does not wait for the disk, unless it is shared with a transaction that does. The rows survive a crash of
   * this process, but a crash of the machine only once a later COMMIT has waited for the disk. For work whose success
   * is not reported to a client.
   */
  readonly asynchronousCommit?: boolean
  /**
   * Every server may do this work at any time, also one that does not write: it touches only rows of its own, or adds to
   * counters. For all other work only the server that holds the writer lease gets a transaction. A test lists who says so.
   */
  readonly shared?: boolean
  /**
   * The work may take more than some twenty milliseconds: it writes many rows. On SQLite searches do not wait for it,
   * because rows that they need are put into their tables before it begins.
   */
  readonly isLong?: boolean
  /**
   * Nobody is known to search meanwhile. On SQLite more rows of `insertDeferred` come together before they are put into their
   * tables, and they are not put there for the sake of long work. A search finds them all the same, but waits until the
   * transaction that is open has ended, and those rows are in their tables.
   */
  readonly readsMayWait?: boolean
}

export interface AloneOptions {
  /** Ends the wait. */
  readonly signal?: AbortSignal
  /** Called once, when another process holds the lock. */
  readonly onWait?: () => void
}

export interface DatabaseStatus {
  readonly kind: 'sqlite' | 'memory' | 'postgres'
  /**
   * Connections or reader threads: `size` is the maximum, `busy` how many run queries, `waiting` how many queries wait.
   */
  readonly pool: { readonly size: number; readonly busy: number; readonly waiting: number }
  /** Transactions committed, and the commits they shared. */
  readonly commits: { readonly transactions: number; readonly groups: number }
  /**
   * The epoch of the writer lease that this process holds, and the number of the last commit that published something and
   * is known to be on disk: one that was acknowledged, or a later one. Only on PostgreSQL, where processes take turns.
   */
  readonly lease?: { readonly epoch: number; readonly seq: number }
  /** How far this process has published the changes of all servers. */
  readonly feed?: FeedStatus
}

export interface Database {
  readonly kind: 'sqlite' | 'memory' | 'postgres'
  /**
   * True on a server that only reads, because another one writes: a replica. `transact` refuses all work there that is not
   * `shared`, so a start writes nothing and waits for what the other one stores. Known from set-up on.
   */
  readonly isReader: boolean
  /** Reads a committed row by key, in well under a millisecond. */
  get<R>(statement: Sql, params: readonly SqlParam[]): MaybePromise<R | undefined>
  /** Reads a small page of committed rows. */
  all<R>(statement: Sql, params: readonly SqlParam[]): MaybePromise<R[]>
  /**
   * A query that may take longer than a millisecond: runs in a worker thread or a session of its own. Rejects when `signal` aborts.
   * PostgreSQL ends the statement then; SQLite ends it at the next mark of `eachRow`, or where there is none at its end.
   */
  longQuery<R>(statement: Sql, params: readonly SqlParam[], signal?: AbortSignal): Promise<R[]>
  /**
   * The argument for `openThreadReader` in a worker thread that reads many rows; undefined where the database is not a
   * file. Not for tables whose rows are inserted by `insertDeferred`.
   */
  threadReaderLocation(): ThreadReaderLocation | undefined
  /**
   * Opens the database read-only, whatever its schema, and leaves it unchanged: for commands. Works before the database
   * is started. Throws what the file or the server does not allow.
   */
  readOnly<T>(work: (reader: ThreadReader) => Promise<T>): Promise<T>
  /**
   * Runs statements on a session of their own, each of which commits by itself: for rows that a server leaves to the one
   * that writes. Works before the database is started, on PostgreSQL; rejects where the database is a file or in memory.
   */
  beside<T>(work: (session: StatementRunner) => Promise<T>): Promise<T>
  /**
   * Runs `work` in a transaction and resolves after COMMIT returned. When `work` throws, only its own statements are
   * rolled back, even where several transactions share a commit. `work` may run again, so it must have no effect
   * outside the transaction: SQLite rolls back all transactions of a commit when one of them fails after it wrote,
   * PostgreSQL one because of another (a deadlock, the same row inserted first). On PostgreSQL a statement that failed
   * fails the transaction, even when `work` catches the error. Never call it from inside another `work`.
   */
  transact<T>(work: (transaction: Transaction) => MaybePromise<T>, options?: TransactOptions): Promise<T>
  /**
   * Runs reads in one snapshot: all of them see the same commits. On PostgreSQL the transaction is READ ONLY; on SQLite it
   * is one like any other. No work before COMMIT may be registered in it.
   */
  reading<T>(work: (transaction: Transaction) => MaybePromise<T>): Promise<T>
  /**
   * Runs `work` while no other process on this database runs work of this name. The others wait without a time limit,
   * so `work` should first check whether one of them has done it. On PostgreSQL the lock ends with its connection,
   * which may be lost while `work` runs: what two processes must never do at once also needs a lock in its transaction.
   * Never call it from inside a transaction or another `alone`.
   */
  alone<T>(name: string, work: () => Promise<T>, options?: AloneOptions): Promise<T>
  /** MikroORM on the same connections, with the entities of all plugins. Imported on first use. */
  orm(): Promise<MikroORM>
  status(): DatabaseStatus
  /**
   * Whether another process may be using this database: true when that is not known; false on SQLite
   * (`isOpenElsewhere`).
   */
  isShared(): Promise<boolean>
  /**
   * Throws 503 while the database does not confirm that this server is still the one that writes. Requests are refused then
   * when they arrive; a request with many steps calls this before each of them.
   */
  checkLease(): void
  /**
   * True while nobody but this process can have committed anything that it has not heard of. Only then may it show what
   * it has kept in memory of committed rows: it is asked right before. Always true on SQLite. On PostgreSQL true for the
   * holder of the writer lease, as long as that is confirmed.
   */
  isSole(): boolean
  /**
   * True for a command that works beside a running server, without the writer lease. It must not change what that server
   * keeps in memory, as the server would not hear of it.
   */
  isBeside(): boolean
}

export const Database = defineService<Database>('database')
