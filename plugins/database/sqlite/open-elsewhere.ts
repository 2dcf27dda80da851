/**
 * Whether another connection has a SQLite file open. Call it before this process opens the file: every connection holds
 * a shared lock, and this tries to take the exclusive one.
 */
import { existsSync } from 'node:fs'
import BetterSqlite from 'better-sqlite3'

export const isOpenElsewhere = (path: string): boolean => {
  if (!existsSync(path)) return false
  const handle = new BetterSqlite(path, { timeout: 0, fileMustExist: true })
  try {
    handle.pragma('locking_mode = EXCLUSIVE')
    handle.exec('BEGIN IMMEDIATE; ROLLBACK')
    return false
  } catch (error) {
    if (String((error as { code?: string }).code).startsWith('SQLITE_BUSY')) return true
    throw error
  } finally {
    handle.close()
  }
}
