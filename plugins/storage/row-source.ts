/** What a read asks: the database and its committed rows, or a transaction and what it has written too. */
import type { Database, Sql, SqlParam, Transaction } from '../database/service.ts'

export type RowSource = Pick<Database, 'get' | 'all' | 'longQuery'>

/** A transaction as a source. It has one connection, so a slow query takes the same way as a quick one. */
export const rowSourceOf = (transaction: Transaction): RowSource => ({
  get: (statement, params) => transaction.get(statement, params),
  all: (statement, params) => transaction.all(statement, params),
  longQuery: async <R>(statement: Sql, params: readonly SqlParam[]) => transaction.all<R>(statement, params),
})
