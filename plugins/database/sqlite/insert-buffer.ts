/**
 * Rows of `Transaction.later`: kept in memory, and as one row for each COMMIT in the table `backlog`, until they are put
 * into their tables, many at once and in the order of their keys. Putting and the removal from `backlog` are one
 * transaction, so a row is put once whatever happens between.
 *
 * Only inserts wait here: until they are put, what they belong to is not found by any statement, as if it had been
 * committed a moment later; nothing is found by what it was before.
 */
import type BetterSqlite from 'better-sqlite3'
import { type DeferredInsert, insertImmediately, type Sql, type SqlParam, type SqlScalar } from '../contract.ts'
import { type BufferedLength, BufferedRows } from './buffered-rows.ts'
import { toRecord } from './insert-buffer-record.ts'
import { ADD_INSERT, ADD_ROWS, CLEAR_ROWS, FIND_INSERT } from './insert-buffer-tables.ts'
import type { PreparedStatements } from './statements.ts'

type Kept = Map<DeferredInsert, BufferedRows>

/** How the backlog stood, for a transaction or savepoint that may be undone. */
export interface InsertBufferSavepoint {
  readonly kept: Kept
  /** Of each insert that was kept by then: what it kept, and what of that was written down. */
  readonly lengths: readonly { readonly kept: BufferedLength; readonly written: BufferedLength }[]
  readonly rows: number
}

export interface InsertBuffer {
  /** Rows that wait. */
  readonly rows: number
  /** Rows of a transaction, one after the other, with what is the last parameter of all of them if it is not among theirs. */
  add(insert: DeferredInsert, params: readonly SqlScalar[], last: SqlScalar | undefined): void
  /** Must rows be put before this statement? */
  concerns(statement: Sql): boolean
  /**
   * Puts all rows into their tables, inside the transaction that is open. Yields after a part of them: nothing may be
   * kept before it is done.
   */
  flush(): Generator<undefined>
  /** Before COMMIT: writes down what the transactions of the group kept. */
  persist(): void
  mark(): InsertBufferSavepoint
  /** What came after the mark was undone. */
  restore(mark: InsertBufferSavepoint): void
}

const ROWS_OF_A_PART = 1_024 // put in about two milliseconds
const ROWS_OF_A_RECORD = 8_192 // written down in some milliseconds; a COMMIT of usual changes has fewer

const NOTHING: BufferedLength = { rows: 0, texts: 0 }

/** `isKept`: a database in memory has nothing that outlives it. */
export const createInsertBuffer = (
  handle: BetterSqlite.Database,
  statements: PreparedStatements,
  isKept: boolean,
): InsertBuffer => {
  const clear = handle.prepare(CLEAR_ROWS)
  const add = handle.prepare(ADD_ROWS)
  const find = handle.prepare<[string], { number: number }>(FIND_INSERT)
  const number = handle.prepare<[string, number], { number: number }>(ADD_INSERT)
  const numbers = new Map<DeferredInsert, number>()
  const run = (statement: Sql, params: readonly SqlParam[]): void => void statements.of(statement).run(...params)

  let kept: Kept = new Map()
  let rows = 0
  /** Of those, how many are in no record yet. */
  let unwritten = 0

  // Which statements name a table whose rows wait. Tables are few and stay the same.
  const tables = new Set<string>()
  let names = /(?!)/
  let judged = new WeakMap<Sql, boolean>()
  const learn = (table: string): void => {
    tables.add(table)
    names = new RegExp(`\\b(?:${[...tables].join('|')})\\b`, 'i')
    judged = new WeakMap()
  }

  const numberOf = ({ insert }: BufferedRows): number => {
    const known = numbers.get(insert)
    if (known !== undefined) return known
    const text = (insert.counts[0] as Sql).sqlite
    const found = (find.get(text) ?? number.get(text, insert.width)) as { number: number }
    numbers.set(insert, found.number)
    return found.number
  }

  const persist = (): void => {
    unwritten = 0
    if (!isKept) return
    const record = toRecord(kept.values(), numberOf)
    if (record === undefined) return
    add.run(record)
    for (const own of kept.values()) own.written = own.length
  }

  /** Is there a row in the table `backlog`? */
  const isWritten = (): boolean => kept.values().some((own) => own.written.rows > 0)

  return {
    get rows() {
      return rows
    },
    add(insert, params, last) {
      if (params.length === 0) return
      let own = kept.get(insert)
      if (own === undefined) {
        if (!tables.has(insert.table)) learn(insert.table)
        own = new BufferedRows(insert)
        kept.set(insert, own)
      }
      const added = own.add(params, last)
      if (added === 0) insertImmediately({ run }, insert, params, last)
      rows += added
      unwritten += added
      // A transaction of very many rows writes them down as they come, and not all in one turn at its end.
      if (unwritten >= ROWS_OF_A_RECORD) persist()
    },
    concerns(statement) {
      if (rows === 0) return false
      let concerned = judged.get(statement)
      if (concerned === undefined) {
        concerned = names.test(statement.sqlite)
        judged.set(statement, concerned)
      }
      return concerned
    },
    *flush() {
      let part = 0
      for (const own of kept.values())
        for (const count of own.flush(run)) {
          part += count
          if (part < ROWS_OF_A_PART) continue
          part = 0
          yield
        }
      if (isKept && isWritten()) clear.run()
      // New lists, and the old ones left as they are: a mark may stand for them.
      kept = new Map()
      rows = 0
      unwritten = 0
    },
    persist,
    mark() {
      const lengths = Array.from(kept.values(), (own) => ({ kept: own.length, written: own.written }))
      return { kept, lengths, rows }
    },
    restore(mark) {
      kept = mark.kept
      // In the order they came: behind those of the mark are inserts that were met since.
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
      // Numbers that were given since may be gone with the rest.
      numbers.clear()
    },
  }
}
