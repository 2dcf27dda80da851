/**
 * Rows of `Transaction.later`: kept in memory, and as one row for each COMMIT in the table `backlog`, until they are put
 * into their tables, many at once and in the order of their keys. Putting and the removal from `backlog` are one
 * transaction, so a row is put once whatever happens between.
 *
 * Only inserts wait here: until they are put, what they belong to is not found by any statement, as if it had been
 * committed a moment later; nothing is found by what it was before.
 */
import type BetterSqlite from 'better-sqlite3'
import type { LaterInsert, Param, Plain, Sql } from '../service.ts'
import { ADD_INSERT, ADD_ROWS, CLEAR_ROWS, FIND_INSERT } from './backlog-tables.ts'
import type { Statements } from './statements.ts'

interface Kept {
  readonly insert: LaterInsert
  readonly params: readonly Plain[]
}

/** How the backlog stood, for a transaction or savepoint that may be undone. */
export interface BacklogMark {
  readonly committed: Kept[]
  readonly open: Kept[]
  readonly length: number
}

export interface Backlog {
  /** Rows that wait. */
  readonly rows: number
  keep(insert: LaterInsert, params: readonly Plain[]): void
  /** Must rows be put before this statement? */
  concerns(statement: Sql): boolean
  /** Puts all rows into their tables, inside the transaction that is open. */
  put(): void
  /** Before COMMIT: writes down what the transactions of the group kept. */
  writeDown(): void
  /** After COMMIT. */
  committed(): void
  mark(): BacklogMark
  /** What came after the mark was undone. */
  restore(mark: BacklogMark): void
}

/** 48 bits: as many as a hash has, or a time in milliseconds. */
const SPAN = 2 ** 48

const placeOf = (value: Plain): number =>
  typeof value === 'number'
    ? Math.min(Math.max(value, -SPAN / 2), SPAN / 2)
    : value === null
      ? 0
      : (value.charCodeAt(0) || 0) * 2 ** 31 + (value.charCodeAt(1) || 0) * 2 ** 15 + (value.charCodeAt(2) || 0)

/** About where a row comes in its table, by its first two parameters: neighbours need not be told apart. */
const orderOf = (params: readonly Plain[], at: number, width: number): number =>
  placeOf(params[at] as Plain) * SPAN + (width > 1 ? placeOf(params[at + 1] as Plain) : 0)

const isSayable = (param: Plain): boolean => typeof param !== 'number' || Number.isFinite(param)

/** Rows of one insert. */
class KeptRows {
  readonly #insert: LaterInsert
  /** Of each row: where its parameters are, and its place in the order. */
  readonly #params: (readonly Plain[])[] = []
  readonly #starts: number[] = []
  readonly #orders: number[] = []

  constructor(insert: LaterInsert) {
    this.#insert = insert
  }

  add(params: readonly Plain[]): void {
    const { width } = this.#insert
    for (let at = 0; at < params.length; at += width) {
      this.#params.push(params)
      this.#starts.push(at)
      this.#orders.push(orderOf(params, at, width))
    }
  }

  /** In order, and those of one place in the order they were kept. */
  put(run: (statement: Sql, params: readonly Param[]) => void): void {
    const { width, counts } = this.#insert
    const orders = this.#orders
    const rows = Uint32Array.from(orders.keys()).sort(
      (one, other) => (orders[one] as number) - (orders[other] as number),
    )
    for (let from = 0; from < rows.length; from += counts.length) {
      const to = Math.min(from + counts.length, rows.length)
      const all: Plain[] = new Array((to - from) * width)
      let next = 0
      for (let row = from; row < to; row += 1) {
        const at = rows[row] as number
        const params = this.#params[at] as readonly Plain[]
        const start = this.#starts[at] as number
        for (let n = 0; n < width; n += 1) all[next++] = params[start + n] as Plain
      }
      run(counts[to - from - 1] as Sql, all)
    }
  }
}

/** `isKept`: a database in memory has nothing that outlives it. */
export const createBacklog = (handle: BetterSqlite.Database, statements: Statements, isKept: boolean): Backlog => {
  const clear = handle.prepare(CLEAR_ROWS)
  const add = handle.prepare(ADD_ROWS)
  const find = handle.prepare<[string], { number: number }>(FIND_INSERT)
  const number = handle.prepare<[string, number], { number: number }>(ADD_INSERT)
  const numbers = new Map<LaterInsert, number>()
  const run = (statement: Sql, params: readonly Param[]): void => void statements.of(statement).run(...params)

  let committed: Kept[] = []
  let open: Kept[] = []
  let rows = 0

  // Which statements name a table whose rows wait. Tables are few and stay the same.
  const tables = new Set<string>()
  let names = /(?!)/
  let judged = new WeakMap<Sql, boolean>()
  const learn = (table: string): void => {
    tables.add(table)
    names = new RegExp(`\\b(?:${[...tables].join('|')})\\b`, 'i')
    judged = new WeakMap()
  }

  const numberOf = (insert: LaterInsert): number => {
    const known = numbers.get(insert)
    if (known !== undefined) return known
    const text = (insert.counts[0] as Sql).sqlite
    const found = (find.get(text) ?? number.get(text, insert.width)) as { number: number }
    numbers.set(insert, found.number)
    return found.number
  }
  const countRows = (kept: readonly Kept[]): number =>
    kept.reduce((sum, { insert, params }) => sum + params.length / insert.width, 0)

  return {
    get rows() {
      return rows
    },
    keep(insert, params) {
      if (params.length === 0) return
      if (!tables.has(insert.table)) learn(insert.table)
      open.push({ insert, params })
      rows += params.length / insert.width
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
    put() {
      const rowsOf = new Map<LaterInsert, KeptRows>()
      for (const kept of [committed, open])
        for (const { insert, params } of kept) {
          let own = rowsOf.get(insert)
          if (own === undefined) {
            own = new KeptRows(insert)
            rowsOf.set(insert, own)
          }
          own.add(params)
        }
      for (const own of rowsOf.values()) own.put(run)
      if (isKept && committed.length > 0) clear.run()
      // New lists, and the old ones left as they are: a mark may stand for them.
      committed = []
      open = []
      rows = 0
    },
    writeDown() {
      if (!isKept || open.length === 0) return
      // What JSON cannot say is put at once.
      if (!open.every(({ params }) => params.every(isSayable))) return this.put()
      const texts = open.map(({ insert, params }) => `[${numberOf(insert)},${JSON.stringify(params).slice(1)}`)
      add.run(`[${texts.join(',')}]`)
    },
    committed() {
      for (const one of open) committed.push(one)
      open = []
    },
    mark: () => ({ committed, open, length: open.length }),
    restore(mark) {
      committed = mark.committed
      open = mark.open
      open.length = mark.length
      rows = countRows(committed) + countRows(open)
      // Numbers that were given since may be gone with the rest.
      numbers.clear()
    },
  }
}
