/**
 * Statements that read what is committed, by the handle that is quickest. A handle forgets its pages when another one has
 * committed, which the audit trail does fifty times a second; that of the writer knows what it wrote itself. So it reads,
 * too, while no transaction is open on it; while one is, the handle apart does, which sees nothing of it.
 */
import type BetterSqlite from 'better-sqlite3'
import { createPreparedStatements, type PreparedStatements } from './statements.ts'

export const createSqliteReader = (writer: BetterSqlite.Database, apart: PreparedStatements): PreparedStatements => {
  const own = createPreparedStatements(writer)
  return {
    of(statement) {
      if (writer.inTransaction) return apart.of(statement)
      const found = own.of(statement)
      // What would write is refused by a handle that only reads.
      return found.readonly ? found : apart.of(statement)
    },
  }
}
