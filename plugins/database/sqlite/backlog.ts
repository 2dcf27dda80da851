/**
 * Rows of `Transaction.later`: kept in memory, and as one row for each COMMIT in the table `backlog`, until they are put
 * into their tables, many at once and in the order of their keys. Putting and the removal from `backlog` are one
 * transaction, so a row is put once whatever happens between.
 *
 * Only inserts wait here: until they are put, what they belong to is not found by any statement, as if it had been
 * committed a moment later; nothing is found by what it was before.
 */
import type BetterSqlite from 'better-sqlite3'
import { insertNow, type LaterInsert, type Param, type Plain, type Sql } from '../service.ts'
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

const compare = (one: readonly Plain[], other: readonly Plain[], ordered: number): number => {
  for (let at = 0; at < ordered; at += 1) {
    const [a, b] = [one[at] as Plain, other[at] as Plain]
    if (a === b) continue
    return (a as number) < (b as number) ? -1 : 1
  }
  return 0
}

const isSayable = (param: Plain): boolean => typeof param !== 'number' || Number.isFinite(param)

/** Rows of each insert, in order. */
const sortRows = (all: Iterable<Kept>): ReadonlyMap<LaterInsert, readonly (readonly Plain[])[]> => {
  const rows = new Map<LaterInsert, (readonly Plain[])[]>()
  for (const { insert, params } of all) {
    let own = rows.get(insert)
    if (own === undefined) {
      own = []
      rows.set(insert, own)
    }
    const { width } = insert
    if (params.length === width) own.push(params)
    else for (let at = 0; at < params.length; at += width) own.push(params.slice(at, at + width))
  }
  for (const [{ ordered }, own] of rows) own.sort((one, other) => compare(one, other, ordered))
  return rows
}

/** `isKept`: a database in memory has nothing that outlives it. */
export const createBacklog = (handle: BetterSqlite.Database, statements: Statements, isKept: boolean): Backlog => {
  const clear = handle.prepare(CLEAR_ROWS)
  const add = handle.prepare(ADD_ROWS)
  const find = handle.prepare<[string], { number: number }>(FIND_INSERT)
  const number = handle.prepare<[string, number], { number: number }>(ADD_INSERT)
  const numbers = new Map<LaterInsert, number>()
  const runner = {
    run: (statement: Sql, params: readonly Param[]): void => void statements.of(statement).run(...params),
  }

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
      for (const [insert, own] of sortRows([...committed, ...open])) {
        const most = insert.counts.length
        for (let at = 0; at < own.length; at += most) insertNow(runner, insert, own.slice(at, at + most).flat())
      }
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
      add.run(JSON.stringify(open.map(({ insert, params }) => [numberOf(insert), ...params])))
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
