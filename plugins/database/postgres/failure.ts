/** PostgreSQL's error codes → what a client and an operator should read. */
import { isServerError, type ServerError } from '../../../kernel/index.ts'
import { DatabaseBusy, DatabaseFull, DatabaseUnavailable, QueryCancelled } from '../errors.ts'
import { TooManyConnections } from './errors.ts'
import { ConnectionLost, PostgresError } from './server-error.ts'

// https://www.postgresql.org/docs/17/errcodes-appendix.html
const KINDS: Readonly<Record<string, () => ServerError>> = {
  '25006': DatabaseUnavailable, // read_only_sql_transaction: a standby, or one that became one
  '25P03': DatabaseUnavailable, // idle_in_transaction_session_timeout
  '40001': DatabaseBusy, // serialization_failure
  '40P01': DatabaseBusy, // deadlock_detected
  '53000': DatabaseUnavailable, // insufficient_resources
  '53100': DatabaseFull, // disk_full
  '53200': DatabaseUnavailable, // out_of_memory
  '53300': TooManyConnections,
  '55P03': DatabaseBusy, // lock_not_available
  '57014': QueryCancelled,
}
const AWAY = /^(?:08|57P|58|XX)/ // connection exception, operator intervention, system and internal error

/** A ServerError stays as it is; a bug stays what it is (500). */
export const fromPostgres = (error: unknown): unknown => {
  if (isServerError(error)) return error
  if (error instanceof ConnectionLost) return DatabaseUnavailable().with({ cause: error, detail: error.message })
  if (!(error instanceof PostgresError)) return error
  const kind = KINDS[error.code] ?? (AWAY.test(error.code) || isFatal(error) ? DatabaseUnavailable : undefined)
  return kind === undefined ? error : kind().with({ cause: error, detail: error.code })
}

const isFatal = ({ severity }: PostgresError): boolean => severity === 'FATAL' || severity === 'PANIC'

/** True when the session is gone: nothing more will be answered on it. */
export const isLost = (error: unknown): boolean =>
  error instanceof ConnectionLost || (error instanceof PostgresError && isFatal(error))

/** True when the server said no, and the session goes on. */
export const isRefusal = (error: unknown): boolean => error instanceof PostgresError && !isFatal(error)

const DEADLOCKS = new Set(['40001', '40P01'])
const UNIQUE = '23505'

/**
 * True when the server undid the transaction and the same work may go through a second time: a deadlock, or a row that
 * another transaction inserted since this one looked for it.
 */
export const mayGoThrough = (error: unknown, attempt: number): boolean =>
  error instanceof PostgresError && (DEADLOCKS.has(error.code) ? attempt < 5 : error.code === UNIQUE && attempt < 2)
