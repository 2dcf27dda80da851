/**
 * Statements for reading committed rows, by the faster of two handles. A handle drops its page cache when another
 * handle has committed, which the audit trail does fifty times a second; the writer's handle knows its own writes. So
 * reads use the writer's handle while no transaction is open on it, and otherwise the separate one, which does not see
 * the open transaction.
 */
import type BetterSqlite from 'better-sqlite3'
import { createPreparedStatements, type PreparedStatements } from './statements.ts'

export const createSqliteReader = (writer: BetterSqlite.Database, apart: PreparedStatements): PreparedStatements => {
  const own = createPreparedStatements(writer)
  return {
    of(statement) {
      if (writer.inTransaction) return apart.of(statement)
      const found = own.of(statement)
      // A statement that writes is refused by the read-only handle.
      return found.readonly ? found : apart.of(statement)
    },
  }
}
