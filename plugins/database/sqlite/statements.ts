/** Prepared statements of one SQLite handle, by their Sql: each is compiled once. */
import type BetterSqlite from 'better-sqlite3'
import type { Sql } from '../service.ts'

export interface Statements {
  of(statement: Sql): BetterSqlite.Statement<unknown[], unknown>
}

export const createStatements = (handle: BetterSqlite.Database): Statements => {
  const prepared = new Map<Sql, BetterSqlite.Statement<unknown[], unknown>>()
  return {
    of(statement) {
      let found = prepared.get(statement)
      if (found === undefined) {
        found = handle.prepare<unknown[], unknown>(statement.sqlite)
        prepared.set(statement, found)
      }
      return found
    },
  }
}
