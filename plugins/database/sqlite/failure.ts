/** Translates SQLite's error codes into errors for clients and operators. */
import { isServerError, type ServerError } from '../../../kernel/index.ts'
import { DatabaseBusy, DatabaseFull, DatabaseFullForReads, DatabaseUnavailable, StatementTooLarge } from '../errors.ts'

/** SQLite has no code for a statement above its limits, so the message tells. https://sqlite.org/limits.html */
const TOO_LARGE =
  /^(?:too many terms in compound SELECT|too many SQL variables|.* nested too deep|Expression tree is too large|parser stack overflow)/

/** A ServerError is returned as it is; an unknown error, which is a bug, too (500). */
export const fromSqlite = (error: unknown): unknown => {
  if (isServerError(error)) return error
  const code = (error as { code?: unknown } | null)?.code
  if (typeof code !== 'string' || !code.startsWith('SQLITE_')) return error
  const { message } = error as Error
  if (code === 'SQLITE_ERROR' && TOO_LARGE.test(message)) return StatementTooLarge(message).with({ cause: error })
  const kind = kindOf(code)
  return kind === undefined ? error : kind.with({ cause: error, detail: code })
}

/** The error for a read that needed rows of the insert buffer in their tables, when flushing failed. */
export const forReader = (failure: unknown): unknown =>
  isServerError(failure) && failure.key === DatabaseFull.key
    ? DatabaseFullForReads().with({ cause: failure.cause, ...failure.extras })
    : failure

const kindOf = (code: string): ServerError | undefined => {
  if (code === 'SQLITE_FULL' || code === 'SQLITE_IOERR_WRITE') return DatabaseFull()
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) return DatabaseBusy()
  if (
    code.startsWith('SQLITE_IOERR') ||
    code.startsWith('SQLITE_CANTOPEN') ||
    code.startsWith('SQLITE_READONLY') ||
    code === 'SQLITE_NOTADB' ||
    code.startsWith('SQLITE_CORRUPT')
  )
    return DatabaseUnavailable()
  return undefined
}
