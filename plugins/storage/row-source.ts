/** Where a read gets its rows: from the database, which has the committed ones, or from a transaction, which sees its own too. */
import type { Database, Transaction } from '../database/service.ts'

export type RowSource = Pick<Database, 'get' | 'all' | 'longQuery'>

/** Uses a transaction as a source. */
export const rowSourceOf = (transaction: Transaction): RowSource => ({
  get: (statement, params) => transaction.get(statement, params),
  all: (statement, params) => transaction.all(statement, params),
  longQuery: (statement, params, signal) => transaction.longQuery(statement, params, signal),
})
