/** The one transaction that writes to a handle. Its COMMIT waits for the disk unless everybody in it does without. */
import type BetterSqlite from 'better-sqlite3'
import { DatabaseUnsynced } from '../errors.ts'

export interface SqliteTransaction {
  /** Throws when nothing may be written. */
  begin(): void
  commit(): void
  /** Does nothing where none is open: on a full disk SQLite may have rolled it back already. */
  rollback(): void
  /** Makes COMMITs not wait for the disk, until `restoreLevel`. The level cannot change inside a transaction. */
  lowerLevel(): void
  /** Restores the level for other users of the handle. */
  restoreLevel(): void
  /** True while COMMITs do not wait for the disk. */
  readonly isRelaxed: boolean
  /**
   * False once the disk has failed to store a COMMIT. The system takes what it could not write for stored, also commits before
   * that did not wait for the disk, so later ones would be acknowledged behind a hole in the log.
   * https://wiki.postgresql.org/wiki/Fsync_Errors
   */
  readonly isSynced: boolean
}

/** `hold` is called after each BEGIN, and throws when nothing may be written. */
export const createSqliteTransaction = (handle: BetterSqlite.Database, hold: () => void): SqliteTransaction => {
  const begin = handle.prepare('BEGIN IMMEDIATE')
  const commit = handle.prepare('COMMIT')
  const rollback = handle.prepare('ROLLBACK')
  let isRelaxed = false
  let isSynced = true
  return {
    begin() {
      if (!isSynced) throw DatabaseUnsynced()
      begin.run()
      hold()
    },
    commit() {
      try {
        commit.run()
      } catch (error) {
        if ((error as { readonly code?: unknown }).code === 'SQLITE_IOERR_FSYNC') isSynced = false
        throw error
      }
    },
    rollback() {
      if (handle.inTransaction) rollback.run()
    },
    lowerLevel() {
      handle.exec('PRAGMA synchronous = NORMAL')
      isRelaxed = true
    },
    restoreLevel() {
      if (isRelaxed) handle.exec('PRAGMA synchronous = FULL')
      isRelaxed = false
    },
    get isRelaxed() {
      return isRelaxed
    },
    get isSynced() {
      return isSynced
    },
  }
}
