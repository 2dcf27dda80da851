/** The transaction that jobs of a group are given, one after the other: notes what the one at hand has done. */
import type BetterSqlite from 'better-sqlite3'
import type { Param, Sql, Transaction } from '../contract.ts'
import { Leavings } from '../leavings.ts'
import type { Backlog } from './backlog.ts'
import type { Statements } from './statements.ts'

export interface JobTransaction extends Transaction {
  /** The next job begins. */
  start(): void
  /** Has it written anything? */
  readonly wrote: boolean
  /** What it has left for the end. */
  readonly left: Leavings | undefined
}

export const createJobTransaction = (statements: Statements, backlog: Backlog): JobTransaction => {
  let wrote = false
  let left: Leavings | undefined

  const prepare = (statement: Sql): BetterSqlite.Statement => {
    if (backlog.concerns(statement)) {
      wrote = true
      for (const _part of backlog.put());
    }
    return statements.of(statement)
  }
  /** A statement with an answer; with RETURNING it may write too. */
  const prepared = (statement: Sql): BetterSqlite.Statement => {
    const found = prepare(statement)
    if (!found.readonly) wrote = true
    return found
  }
  return {
    start() {
      wrote = false
      left = undefined
    },
    get wrote() {
      return wrote
    },
    get left() {
      return left
    },
    leave(closing, item) {
      left ??= new Leavings()
      left.add(closing, item)
    },
    get: <R>(statement: Sql, params: readonly Param[]) => prepared(statement).get(...params) as R | undefined,
    all: <R>(statement: Sql, params: readonly Param[]) => prepared(statement).all(...params) as R[],
    run(statement, params) {
      wrote = true
      prepare(statement).run(...params)
    },
    later(insert, params, last) {
      wrote = true
      backlog.keep(insert, params, last)
    },
    hold: () => undefined,
    queue: () => undefined,
    presume: () => false,
  }
}
