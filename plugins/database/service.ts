/**
 * What the database offers to other plugins: statements, transactions, a lane for slow queries, and MikroORM for
 * administrative entities. One contract on sqlite, memory and postgres.
 */
import type { MikroORM } from '@mikro-orm/core'
import { defineService } from '../../kernel/index.ts'

/** A statement, written once. It is prepared on first use and kept; make it at module level, never per request. */
export interface Sql {
  /** Short and unique: names the prepared statement on PostgreSQL and the line in a plan. */
  readonly name: string
  readonly sqlite: string
  readonly postgres: string
}

export type Param = string | number | null | Uint8Array

/** SQLite answers at once, PostgreSQL later: callers `await`, which costs nothing on a plain value. */
export type Eventually<T> = T | Promise<T>

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

/** Inside one transaction. A statement sees what earlier ones of the same transaction did. */
export interface Transaction {
  get<R>(statement: Sql, params: readonly Param[]): Eventually<R | undefined>
  all<R>(statement: Sql, params: readonly Param[]): Eventually<R[]>
  /** No answer: PostgreSQL may send it together with what follows, at the latest with COMMIT. */
  run(statement: Sql, params: readonly Param[]): Eventually<void>
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
  get<R>(statement: Sql, params: readonly Param[]): Eventually<R | undefined>
  /** A small page of committed rows. */
  all<R>(statement: Sql, params: readonly Param[]): Eventually<R[]>
  /** A query that may take longer than a millisecond: off the main thread. Stops when `signal` aborts. */
  slow<R>(statement: Sql, params: readonly Param[], signal?: AbortSignal): Promise<R[]>
  /**
   * Runs `work` in a transaction and resolves after COMMIT returned. What `work` throws undoes its own statements
   * only, even where several transactions share a commit. It may run again, so it keeps nothing outside itself: SQLite
   * undoes all transactions of a commit when one of them fails after it wrote, PostgreSQL one because of another (a
   * deadlock, the same row inserted first). A statement that failed dooms the transaction on PostgreSQL, even when `work`
   * catches the error. Never call it from inside another `work`.
   */
  transact<T>(work: (transaction: Transaction) => Eventually<T>): Promise<T>
  /** MikroORM on the same connections, with the entities of all plugins. Imported on first use. */
  orm(): Promise<MikroORM>
  status(): DatabaseStatus
}

export const Database = defineService<Database>('database')
