/** The database with each statement of a traced request as a step. Statements of other requests pass as they are. */
import type { Database, MaybePromise, Sql, Transaction } from '../database/service.ts'
import type { OpenTraces } from './open-traces.ts'
import { createStatementText } from './statement-text.ts'
import type { Details, Trace } from './trace.ts'
import { withMethods } from './with-methods.ts'

const rowsOf = (rows: readonly unknown[]): Details => ({ rows: rows.length })
const rowOf = (row: unknown): Details => ({ rows: row === undefined ? 0 : 1 })

export const tracedDatabase = (database: Database, traces: OpenTraces): Database => {
  const textOf = createStatementText(database.kind)
  const detailsOf = (statement: Sql, where: string): Details => ({
    statement: statement.name,
    sql: textOf(statement),
    where,
  })

  const tracedTransaction = (inner: Transaction, trace: Trace): Transaction =>
    withMethods<Transaction>(inner, {
      get: (statement, params) =>
        trace.time(
          'statement',
          detailsOf(statement, 'transaction'),
          () => inner.get<any>(statement, params),
          (row) => rowOf(row),
        ),
      all: (statement, params) =>
        trace.time(
          'statement',
          detailsOf(statement, 'transaction'),
          () => inner.all<any>(statement, params),
          (rows) => rowsOf(rows),
        ),
      longQuery: (statement, params, signal) =>
        trace.time(
          'statement',
          detailsOf(statement, 'transaction'),
          () => inner.longQuery<any>(statement, params, signal),
          (rows) => rowsOf(rows),
        ),
      run: (statement, params) =>
        trace.time('statement', detailsOf(statement, 'transaction'), () => inner.run(statement, params)),
    })

  /** Transactions may share a COMMIT: then the work of one request is done within that of another. */
  const inOwnContext = <T>(work: (transaction: Transaction) => MaybePromise<T>): typeof work => {
    const trace = traces.current()
    return (inner) => traces.run(trace, () => work(trace === undefined ? inner : tracedTransaction(inner, trace)))
  }

  return withMethods(database, {
    get: (statement, params) => {
      const trace = traces.current()
      const get = () => database.get<any>(statement, params)
      return trace === undefined ? get() : trace.time('statement', detailsOf(statement, 'main thread'), get, rowOf)
    },
    all: (statement, params) => {
      const trace = traces.current()
      const all = () => database.all<any>(statement, params)
      return trace === undefined
        ? all()
        : trace.time('statement', detailsOf(statement, 'main thread'), all, (rows) => rowsOf(rows))
    },
    longQuery: (statement, params, signal) => {
      const trace = traces.current()
      const ask = () => database.longQuery<any>(statement, params, signal)
      return trace === undefined
        ? ask()
        : trace.time('statement', detailsOf(statement, 'reader'), ask, (rows) => rowsOf(rows))
    },
    transact: (work, options) => {
      const trace = traces.current()
      const transact = () => database.transact(inOwnContext(work), options)
      return trace === undefined ? transact() : trace.time('transaction', {}, transact)
    },
    reading: (work) => {
      const trace = traces.current()
      const read = () => database.reading(inOwnContext(work))
      return trace === undefined ? read() : trace.time('transaction', { readOnly: true }, read)
    },
  })
}
