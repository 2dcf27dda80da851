/**
 * Rewrites a SQLite file that no server uses: rows that were deleted leave no bytes in free pages, in the write-ahead log, or in
 * segments of full-text indexes. https://sqlite.org/lang_vacuum.html, https://sqlite.org/fts5.html#the_optimize_command
 */
import BetterSqlite from 'better-sqlite3'

export const compactFile = (path: string): void => {
  const handle = new BetterSqlite(path, { fileMustExist: true })
  try {
    const indexes = handle
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%USING fts5%'")
      .pluck()
      .all() as string[]
    for (const name of indexes) handle.exec(`INSERT INTO "${name}" ("${name}") VALUES ('optimize')`)
    handle.exec('VACUUM')
    handle.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    handle.close()
  }
}
