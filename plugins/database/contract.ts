/** The contract between the database and those who use it: statements, transactions, one on sqlite, memory and postgres. */
import type { MikroORM } from '@mikro-orm/core'
import { defineService, type ServerError } from '../../kernel/index.ts'

/** A statement, written once. It is prepared on first use and kept; make it at module level, never per request. */
export interface Sql {
  /** Short and unique: names the prepared statement on PostgreSQL and the line in a plan. */
  readonly name: string
  readonly sqlite: string
  readonly postgres: string
}

export type SqlScalar = string | number | null

export type SqlParam = SqlScalar | Uint8Array

/** SQLite answers at once, PostgreSQL later: callers `await`, which costs nothing on a plain value. */
export type MaybePromise<T> = T | Promise<T>

/** `next` of the value, at once when it is there at once: no promise where nothing is awaited. */
export const chain = <T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> =>
  value instanceof Promise ? value.then(next) : next(value)

/**
 * `sql('fhir.read', 'SELECT … WHERE id = ?')`: parameters are `?` in the order given, numbered for PostgreSQL here.
 * Two texts where the dialects differ.
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

/** An insert of rows that may be made later, once for many transactions: see `Transaction.later`. */
export interface DeferredInsert {
  readonly table: string
  /** Parameters of a row; the first two begin its key. */
  readonly width: number
  /** Statements that insert 1, 2, … rows at once. To insert a row twice is the same as once. */
  readonly counts: readonly Sql[]
}

/** Rows that lack the last of their parameters, which all of them share, with it. `width` of a row with it. */
const withLast = <T extends SqlParam>(params: readonly T[], width: number, last: T): readonly T[] => {
  const whole: T[] = []
  for (let at = 0; at < params.length; ) {
    for (let n = 1; n < width; n += 1) whole.push(params[at++] as T)
    whole.push(last)
  }
  return whole
}

/** Inserts rows at once: `params` of one after the other, and the last of all of them if it is not among theirs. */
export const insertImmediately = (
  transaction: Pick<Transaction, 'run'>,
  { counts, width }: DeferredInsert,
  given: readonly SqlParam[],
  last?: SqlScalar,
): MaybePromise<void> => {
  const params = last === undefined ? given : withLast(given, width, last)
  const most = counts.length * width
  if (params.length <= most)
    return params.length === 0 ? undefined : transaction.run(counts[params.length / width - 1] as Sql, params)
  const sent: MaybePromise<void>[] = []
  for (let at = 0; at < params.length; at += most) {
    const part = params.slice(at, at + most)
    sent.push(transaction.run(counts[part.length / width - 1] as Sql, part))
  }
  return sent.some((one) => one instanceof Promise) ? Promise.all(sent).then(() => undefined) : undefined
}

/**
 * Work at the end of transactions, right before COMMIT: one statement for what many of them left, in one order for all.
 * Made once, in setup.
 */
export interface CommitParticipant<T> {
  /**
   * `items` of all transactions that share this COMMIT, in the order they were left. One call at a time: the next comes
   * when the outcome of this one is known. What it throws undoes all of these transactions.
   */
  beforeCommit(transaction: Transaction, items: readonly T[]): MaybePromise<void>
  /** The outcome: false when it was undone, or when nobody knows. */
  finished(committed: boolean): void
  /** The error for those whose transactions were undone because what `close` wrote could not be kept. */
  refuse(cause: unknown): ServerError
}

/** Inside one transaction. A statement sees what earlier ones of the same transaction did. */
export interface Transaction {
  /** Leaves something for the end of the transaction. One that is undone leaves nothing. */
  beforeCommit<T>(participant: CommitParticipant<T>, item: T): void
  /**
   * Calls `tell` once this transaction is committed, before `transact` resolves: for what is kept in memory. Calls come in
   * the order in which transactions that write the same rows were committed. `transact` rejects with what it throws.
   */
  afterCommit(tell: () => void): void
  /**
   * Inserts rows, `params` of one after the other, at the latest when a statement that names their table is asked here
   * or by `Database.get`, `all` or `slow`. On SQLite they are kept with COMMIT in one place, as durable as everything
   * else, and many are put into their tables at once: a page they share is written once. PostgreSQL, where several
   * processes write, inserts them now. For what a row written before does not depend on. `last`: the last parameter of
   * all these rows, which then is left out of `params`.
   */
  insertDeferred(insert: DeferredInsert, params: readonly SqlScalar[], last?: SqlScalar): MaybePromise<void>
  get<R>(statement: Sql, params: readonly SqlParam[]): MaybePromise<R | undefined>
  all<R>(statement: Sql, params: readonly SqlParam[]): MaybePromise<R[]>
  /** No answer: PostgreSQL may send it together with what follows, at the latest with COMMIT. */
  run(statement: Sql, params: readonly SqlParam[]): MaybePromise<void>
  /**
   * Until the end of this transaction no other one gets past here with the same name, in any process. SQLite has one
   * writer, and lets nobody wait. When it cannot be had in time it fails with what `isHeldUp` tells.
   */
  hold(name: string): MaybePromise<void>
  /**
   * Waits for transactions of this process that came here with the same name and have not ended: before a statement that
   * would wait for them in PostgreSQL, with a session that others need. Nothing once something was asked, because then it
   * could wait for whoever waits for it. Fails as `hold` does.
   */
  queue(name: string): MaybePromise<void>
  /**
   * Leaves it to a statement, which fails where it is not so, that something is as expected: true, and nothing was asked.
   * When it fails the transaction is undone and `work` runs again, which then is told false, as where asking is as
   * cheap: then it has to ask.
   */
  assertOptimistically(check: Sql, params: readonly SqlParam[]): boolean
}

/** Rows, and nothing else. */
export interface ThreadReader {
  all<R>(statement: Sql, params: readonly SqlParam[]): MaybePromise<R[]>
}

/** Plain data that tells a thread what to open. */
export interface ThreadReaderLocation {
  readonly path: string
}

export interface TransactOptions {
  /**
   * COMMIT does not wait for the disk, unless it is shared with one that does. What was written outlives this process
   * at once, and a crash of the machine only with the next COMMIT that waits. For what is told to nobody as done.
   */
  readonly asynchronousCommit?: boolean
}

export interface AloneOptions {
  /** Ends the wait. */
  readonly signal?: AbortSignal
  /** Called once, when another process is at it. */
  readonly onWait?: () => void
}

export interface DatabaseStatus {
  readonly kind: 'sqlite' | 'memory' | 'postgres'
  /** Connections or reader threads: how many there may be, how many are busy, how many queries wait. */
  readonly pool: { readonly size: number; readonly busy: number; readonly waiting: number }
  /** Transactions committed, and the commits they shared. */
  readonly commits: { readonly transactions: number; readonly groups: number }
}

export interface Database {
  readonly kind: 'sqlite' | 'memory' | 'postgres'
  /** A committed row by key: well under a millisecond. */
  get<R>(statement: Sql, params: readonly SqlParam[]): MaybePromise<R | undefined>
  /** A small page of committed rows. */
  all<R>(statement: Sql, params: readonly SqlParam[]): MaybePromise<R[]>
  /** A query that may take longer than a millisecond: off the main thread. Stops when `signal` aborts. */
  longQuery<R>(statement: Sql, params: readonly SqlParam[], signal?: AbortSignal): Promise<R[]>
  /**
   * What a thread gives to `openThreadReader`, for work over many rows; undefined where the database is no file. Not for
   * tables whose rows are inserted by `later`.
   */
  threadReaderLocation(): ThreadReaderLocation | undefined
  /**
   * Opens the database for reading alone, whatever its schema, and leaves it as it was: for commands. Needs no start.
   * Throws what the file or the server does not allow.
   */
  readOnly<T>(work: (reader: ThreadReader) => Promise<T>): Promise<T>
  /**
   * Runs `work` in a transaction and resolves after COMMIT returned. What `work` throws undoes its own statements
   * only, even where several transactions share a commit. It may run again, so it keeps nothing outside itself: SQLite
   * undoes all transactions of a commit when one of them fails after it wrote, PostgreSQL one because of another (a
   * deadlock, the same row inserted first). A statement that failed dooms the transaction on PostgreSQL, even when `work`
   * catches the error. Never call it from inside another `work`.
   */
  transact<T>(work: (transaction: Transaction) => MaybePromise<T>, options?: TransactOptions): Promise<T>
  /**
   * Runs `work` while no other process on this database runs work of this name; the others wait, as long as it takes. So
   * `work` looks first whether one of them has done it. On PostgreSQL the lock ends with its connection, which may be
   * lost while `work` runs: what two processes must never do at once needs a lock in its transaction besides. Never call
   * it from inside a transaction or another `alone`.
   */
  alone<T>(name: string, work: () => Promise<T>, options?: AloneOptions): Promise<T>
  /** MikroORM on the same connections, with the entities of all plugins. Imported on first use. */
  orm(): Promise<MikroORM>
  status(): DatabaseStatus
  /** May another process be using this database? True when that cannot be told; false on SQLite (`isOpenElsewhere`). */
  isShared(): Promise<boolean>
}

export const Database = defineService<Database>('database')
