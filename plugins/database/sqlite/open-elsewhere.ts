/** Is a SQLite file in use? Asked before it is opened here: every connection shares a lock on it that one alone can take. */
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
