/** Prepared statements of one SQLite handle, by their Sql: compiled once, and again when it was long not used. */
import type BetterSqlite from 'better-sqlite3'
import { LRUCache } from 'lru-cache'
import type { Sql } from '../contract.ts'
import { unpeeked } from './unpeeked.ts'

const MOST_PREPARED = 1_000 // searches come in many shapes; the fixed statements are some dozens

export interface Statements {
  of(statement: Sql): BetterSqlite.Statement<unknown[], unknown>
}

export const createStatements = (handle: BetterSqlite.Database): Statements => {
  const prepared = new LRUCache<Sql, BetterSqlite.Statement<unknown[], unknown>>({ max: MOST_PREPARED })
  return {
    of(statement) {
      let found = prepared.get(statement)
      if (found === undefined) {
        found = handle.prepare<unknown[], unknown>(unpeeked(statement.sqlite))
        prepared.set(statement, found)
      }
      return found
    },
  }
}
