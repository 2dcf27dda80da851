/**
 * The insert buffer, for rows of `Transaction.insertDeferred`: they are held in memory, and as one row for each COMMIT
 * in the table `backlog`, until they are inserted into their tables, many at once and in the order of their keys.
 * Inserting them and clearing `backlog` is one transaction, so no row is lost or inserted twice.
 *
 * It holds inserts only. A statement that runs without a flush sees the tables as if the buffered rows were not
 * committed yet; since nothing is changed or removed by the buffer, it never finds an outdated row.
 */
import type BetterSqlite from 'better-sqlite3'
import type { DeferredInsert, Sql, SqlParam, SqlScalar } from '../contract.ts'
import { insertImmediately } from '../insert-immediately.ts'
import { type BufferedLength, BufferedRows } from './buffered-rows.ts'
import { createBufferedTables } from './buffered-tables.ts'
import { createRecordEncoder } from './insert-buffer-record.ts'
import { ADD_INSERT, ADD_ROWS, CLEAR_ROWS, FIND_INSERT } from './insert-buffer-tables.ts'
import type { PreparedStatements } from './statements.ts'

type Kept = Map<DeferredInsert, BufferedRows>

/** The rows of one insert at some time, and how much of them was persisted. */
interface MarkedLength {
  readonly kept: BufferedLength
  readonly written: BufferedLength
}

/** A state of the insert buffer, to which a transaction or savepoint is rolled back. */
export interface InsertBufferSavepoint {
  readonly kept: Kept
  /** For each insert of that time, in insertion order. */
  readonly lengths: readonly MarkedLength[]
  readonly rows: number
  readonly hasSpilled: boolean
}

export interface InsertBuffer {
  /** Number of buffered rows. */
  readonly rows: number
  /** How many rows a group of transactions may add before all are inserted into their tables. */
  bound(mostRowsOfGroup: number): void
  /** Adds rows, parameters of one after the other, and the last parameter of all of them if they do not hold it. */
  add(insert: DeferredInsert, params: readonly SqlScalar[], last: SqlScalar | undefined): void
  /** Whether the buffer has to be flushed before this statement of the open transaction. */
  concerns(statement: Sql): boolean
  /**
   * Whether a reader of committed rows has to wait for a flush. Rows of the open transaction do not count; committed rows
   * do, also where the open transaction has put them into their tables already, because nobody else sees that.
   */
  concernsReader(statement: Sql): boolean
  /**
   * Inserts all rows into their tables, inside the open transaction. Yields after each part; no rows may be added
   * before it is done.
   */
  flush(): Generator<undefined>
  /**
   * Called before COMMIT: writes the rows of the group's transactions into the table `backlog`; where some of them are in
   * their tables already, the others too.
   */
  persist(): void
  /** Called after COMMIT. */
  committed(): void
  mark(): InsertBufferSavepoint
  /** Rolls the buffer back to the mark. */
  restore(mark: InsertBufferSavepoint): void
}

const ROWS_OF_A_PART = 1_024 // inserted in about two milliseconds

const NOTHING: BufferedLength = { rows: 0, texts: 0 }

/** Numbers of inserts in the table `backlog_insert`. */
const createInsertNumbers = (handle: BetterSqlite.Database) => {
  const find = handle.prepare<[string], { number: number }>(FIND_INSERT)
  const add = handle.prepare<[string, number], { number: number }>(ADD_INSERT)
  const numbers = new Map<DeferredInsert, number>()
  return {
    of({ insert }: BufferedRows): number {
      const known = numbers.get(insert)
      if (known !== undefined) return known
      const text = (insert.counts[0] as Sql).sqlite
      const found = (find.get(text) ?? add.get(text, insert.width)) as { number: number }
      numbers.set(insert, found.number)
      return found.number
    },
    forget: () => numbers.clear(),
  }
}

/** `isKept` is false for a database in memory, for which nothing is persisted. */
export const createInsertBuffer = (
  handle: BetterSqlite.Database,
  statements: PreparedStatements,
  isKept: boolean,
): InsertBuffer => {
  const clear = handle.prepare(CLEAR_ROWS)
  const add = handle.prepare(ADD_ROWS)
  const numbers = createInsertNumbers(handle)
  const encode = createRecordEncoder()
  const run = (statement: Sql, params: readonly SqlParam[]): void => void statements.of(statement).run(...params)

  let kept: Kept = new Map()
  let rows = 0
  /** How many of them are not persisted yet. */
  let unwritten = 0
  /** How many committed rows are not in their tables, as a reader sees them. */
  let committedRows = 0
  let mostRowsOfGroup = Number.POSITIVE_INFINITY
  /** Whether the open group had so many rows that some were put into their tables. */
  let hasSpilled = false

  const tables = createBufferedTables()

  const persist = (): void => {
    unwritten = 0
    if (!isKept) return
    const record = encode(kept.values(), numbers.of)
    if (record === undefined) return
    add.run(record)
    for (const own of kept.values()) own.written = own.length
  }

  /** Whether the table `backlog` has rows. */
  const isWritten = (): boolean => kept.values().some((own) => own.written.rows > 0)

  function* flush(): Generator<undefined> {
    let part = 0
    for (const own of kept.values())
      for (const count of own.flush(run)) {
        part += count
        if (part < ROWS_OF_A_PART) continue
        part = 0
        yield
      }
    if (isKept && isWritten()) clear.run()
    // New lists, because a savepoint may refer to the old ones.
    kept = new Map()
    rows = 0
    unwritten = 0
  }
  const flushAtOnce = (): void => {
    for (const _part of flush());
  }

  return {
    get rows() {
      return rows
    },
    bound(most) {
      mostRowsOfGroup = most
    },
    add(insert, params, last) {
      if (params.length === 0) return
      let own = kept.get(insert)
      if (own === undefined) {
        tables.add(insert.table)
        own = new BufferedRows(insert)
        kept.set(insert, own)
      }
      const added = own.add(params, last)
      if (added === 0) insertImmediately({ run }, insert, params, last)
      rows += added
      unwritten += added
      if (unwritten < mostRowsOfGroup) return
      hasSpilled = true
      flushAtOnce()
    },
    concerns: (statement) => rows > 0 && tables.areNamedBy(statement),
    concernsReader: (statement) => committedRows > 0 && tables.areNamedBy(statement),
    flush,
    persist() {
      // A reader must not find one part of a resource's rows in their tables and miss the others.
      if (hasSpilled) flushAtOnce()
      else persist()
    },
    committed() {
      committedRows = rows
      hasSpilled = false
    },
    mark() {
      const lengths: MarkedLength[] = []
      for (const own of kept.values()) lengths.push({ kept: own.length, written: own.written })
      return { kept, lengths, rows, hasSpilled }
    },
    restore(mark) {
      kept = mark.kept
      hasSpilled = mark.hasSpilled
      // In insertion order: inserts that were added after the mark come last.
      let at = 0
      for (const own of kept.values()) {
        const length = mark.lengths[at]
        own.cut(length?.kept ?? NOTHING)
        own.written = length?.written ?? NOTHING
        at += 1
      }
      rows = mark.rows
      unwritten = 0
      for (const own of kept.values()) unwritten += own.rows - own.written.rows
      // Numbers that were assigned since may be rolled back too.
      numbers.forget()
    },
  }
}
