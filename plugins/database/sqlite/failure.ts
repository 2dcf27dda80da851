/** SQLite's error codes → what a client and an operator should read. */
import { isServerError, type ServerError } from '../../../kernel/index.ts'
import { DatabaseBusy, DatabaseFull, DatabaseFullForReads, DatabaseUnavailable } from '../errors.ts'

/** A ServerError stays as it is; a bug stays what it is (500). */
export const fromSqlite = (error: unknown): unknown => {
  if (isServerError(error)) return error
  const code = (error as { code?: unknown } | null)?.code
  if (typeof code !== 'string' || !code.startsWith('SQLITE_')) return error
  const kind = kindOf(code)
  return kind === undefined ? error : kind.with({ cause: error, detail: code })
}

/** Why a read did not get what it asked for, where rows have to be put into their tables first. */
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
