/** Translates PostgreSQL's error codes into errors for clients and operators. */
import { isServerError, type ServerError } from '../../../kernel/index.ts'
import {
  DatabaseConflict,
  DatabaseFull,
  DatabaseUnavailable,
  HeldUp,
  LeaseEnded,
  Outdated,
  QueryCancelled,
  StatementTooLarge,
} from '../errors.ts'
import { OUTDATED_MARK } from '../outdated.ts'
import { TooManyConnections } from './errors.ts'
import { isFencedOff } from './fence.ts'
import { ConnectionLost, PostgresError } from './server-error.ts'

// https://www.postgresql.org/docs/17/errcodes-appendix.html
const KINDS: Readonly<Record<string, () => ServerError>> = {
  '23505': DatabaseConflict, // unique_violation, after a retry
  '25006': DatabaseUnavailable, // read_only_sql_transaction: a standby, or a server that became one
  '25P03': DatabaseUnavailable, // idle_in_transaction_session_timeout
  '40001': HeldUp, // serialization_failure
  '40P01': HeldUp, // deadlock_detected
  '53000': DatabaseUnavailable, // insufficient_resources
  '53100': DatabaseFull, // disk_full
  '53200': DatabaseUnavailable, // out_of_memory
  '53300': TooManyConnections,
  '55P03': HeldUp, // lock_not_available
  '57014': QueryCancelled,
}
const TOO_LARGE = /^54(?:001|011|023)$/ // statement too complex, too many columns, too many arguments
const AWAY = /^(?:08|57P|58|XX)/ // connection exception, operator intervention, system and internal error

/** A ServerError is returned as it is; an unknown error, which is a bug, too (500). */
export const fromPostgres = (error: unknown): unknown => {
  if (isServerError(error)) return error
  if (error instanceof ConnectionLost) return DatabaseUnavailable().with({ cause: error, detail: error.message })
  if (!(error instanceof PostgresError)) return error
  if (isFencedOff(error)) return LeaseEnded().with({ cause: error })
  if (saysOutdated(error)) return Outdated().with({ cause: error })
  if (TOO_LARGE.test(error.code)) return StatementTooLarge(error.message).with({ cause: error })
  const kind = KINDS[error.code] ?? (AWAY.test(error.code) || isFatal(error) ? DatabaseUnavailable : undefined)
  return kind === undefined ? error : kind().with({ cause: error, detail: error.code })
}

/** invalid_text_representation, of a statement made by `outdatedWhere`. */
export const saysOutdated = (error: unknown): boolean =>
  error instanceof PostgresError && error.code === '22P02' && error.message.includes(OUTDATED_MARK)

const isFatal = ({ severity }: PostgresError): boolean => severity === 'FATAL' || severity === 'PANIC'

const LOCK_LATE = '55P03'

/** True when a lock could not be had in time. */
export const isHeldUp = (error: unknown): boolean =>
  error instanceof PostgresError ? error.code === LOCK_LATE : isServerError(error) && error.key === HeldUp.key

/** True when the session is lost: no further answer will come on it. */
export const isLost = (error: unknown): boolean =>
  error instanceof ConnectionLost || (error instanceof PostgresError && isFatal(error))

/** True when the server refused the statement and the session can still be used. */
export const isRefusal = (error: unknown): boolean => error instanceof PostgresError && !isFatal(error)

const READ_ONLY = '25006'
const ENDING = /^57P0/ // shutdown, crash, not yet started, database dropped, idle session

/** True when the session may not write. */
export const isReadOnly = (error: unknown): boolean => error instanceof PostgresError && error.code === READ_ONLY

/**
 * True when the session must not be used again, though it still works: the server is ending it, or it is read-only. A
 * session stays read-only after the database has become writable, and after a failover it may lead to the former
 * primary.
 */
export const isUnfit = (error: unknown): boolean =>
  error instanceof PostgresError && (error.code === READ_ONLY || ENDING.test(error.code))

const DEADLOCKS = new Set(['40001', '40P01'])
const UNIQUE = '23505'
const MAX_ATTEMPTS = 5

/** The key by which failures are counted: violations of different constraints are counted separately. */
export const kindOfFailure = (error: unknown): string =>
  error instanceof PostgresError ? `${error.code} ${error.constraint ?? ''}` : ''

/**
 * True when the server rolled the transaction back and a retry may succeed: after a deadlock, after a row that another
 * transaction inserted since this one looked for it, or on a read-only session. `attempt` is how often it failed with
 * this kind of failure. A constraint is violated again by another row of a transaction with many, or by a participant
 * whose row gets another number each time, so that another conflict means little.
 */
export const isRetryable = (error: unknown, attempt: number): boolean => {
  if (!(error instanceof PostgresError)) return false
  if (DEADLOCKS.has(error.code)) return attempt < MAX_ATTEMPTS
  // Nothing was written, and a retry gets a new session.
  if (error.code === READ_ONLY) return attempt < 2
  return error.code === UNIQUE && attempt < MAX_ATTEMPTS
}
