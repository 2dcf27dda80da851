/** Where a read gets its rows: from the database, which has the committed ones, or from a transaction, which sees its own too. */
import type { Database, Sql, SqlParam, Transaction } from '../database/service.ts'

export type RowSource = Pick<Database, 'get' | 'all' | 'longQuery'>

/** Uses a transaction as a source. It has one connection, so long queries run on it like all others. */
export const rowSourceOf = (transaction: Transaction): RowSource => ({
  get: (statement, params) => transaction.get(statement, params),
  all: (statement, params) => transaction.all(statement, params),
  longQuery: async <R>(statement: Sql, params: readonly SqlParam[]) => transaction.all<R>(statement, params),
})
