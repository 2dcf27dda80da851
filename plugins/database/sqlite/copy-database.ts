/** Copies everything that a handle sees as committed to a new file, with SQLite's backup. https://sqlite.org/backup.html */
import type BetterSqlite from 'better-sqlite3'

const TRIES = 100

/**
 * Waits until the handle has no transaction open, and checks that pages were copied: better-sqlite3 takes a first step
 * that SQLite refuses, because the handle is writing, for the end of an empty database, removes the copy and reports
 * success.
 */
export const copyDatabase = async (handle: BetterSqlite.Database, copy: string): Promise<void> => {
  for (let tried = 0; tried < TRIES; tried += 1) {
    while (handle.inTransaction) await new Promise(setImmediate)
    const { totalPages } = await handle.backup(copy)
    if (totalPages > 0) return
  }
  throw new Error(`the database was busy ${TRIES} times`)
}
