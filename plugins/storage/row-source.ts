/** What a read asks: the database and its committed rows, or a transaction and what it has written too. */
import type { Database, Param, Sql, Transaction } from '../database/service.ts'

export type Source = Pick<Database, 'get' | 'all' | 'slow'>

/** A transaction as a source. It has one connection, so a slow query takes the same way as a quick one. */
export const sourceOf = (transaction: Transaction): Source => ({
  get: (statement, params) => transaction.get(statement, params),
  all: (statement, params) => transaction.all(statement, params),
  slow: async <R>(statement: Sql, params: readonly Param[]) => transaction.all<R>(statement, params),
})
