/** Cache of prepared statements of one SQLite handle, by their Sql. */
import type BetterSqlite from 'better-sqlite3'
import { LRUCache } from 'lru-cache'
import type { Sql } from '../contract.ts'
import { withoutPeeking } from './without-peeking.ts'

const MAX_PREPARED = 1_000 // searches come in many shapes; the fixed statements are some dozens

export interface PreparedStatements {
  of(statement: Sql): BetterSqlite.Statement<unknown[], unknown>
}

/** `rewrite` changes the text of a statement before it is prepared. */
export const createPreparedStatements = (
  handle: BetterSqlite.Database,
  rewrite: (text: string) => string = (text) => text,
): PreparedStatements => {
  const prepared = new LRUCache<Sql, BetterSqlite.Statement<unknown[], unknown>>({ max: MAX_PREPARED })
  return {
    of(statement) {
      let found = prepared.get(statement)
      if (found === undefined) {
        found = handle.prepare<unknown[], unknown>(rewrite(withoutPeeking(statement.sqlite)))
        prepared.set(statement, found)
      }
      return found
    },
  }
}
