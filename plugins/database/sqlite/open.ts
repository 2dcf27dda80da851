/** Opens the handles of a SQLite database. https://sqlite.org/pragma.html */
import BetterSqlite from 'better-sqlite3'
import { MIGRATION_TABLE, type RecordedSchema } from '../schema.ts'
import { APPLICATION_ID } from './inspect.ts'

// Writing an index row dirties its page, and whole pages go into the WAL: small pages halve the bytes written.
const PAGE_BYTES = 4_096
const BUSY_MS = 2_000 // milliseconds; short, because the writer waits on the main thread
const LOG_BYTES = 64 * 1024 * 1024

/** The writing handle: WAL, and FULL so that a commit that returned is on disk. */
export const openWriter = (path: string, isNew: boolean, cacheKib: number): BetterSqlite.Database => {
  const handle = new BetterSqlite(path, { timeout: BUSY_MS })
  if (isNew) {
    handle.pragma(`page_size = ${PAGE_BYTES}`)
    handle.pragma(`application_id = ${APPLICATION_ID}`)
  }
  if (path !== ':memory:') handle.pragma('journal_mode = WAL')
  handle.pragma('synchronous = FULL')
  // A checkpoint inside a commit blocks the event loop: a thread of its own makes them.
  handle.pragma('wal_autocheckpoint = 0')
  // After a burst of writes the WAL is truncated when it restarts.
  handle.pragma(`journal_size_limit = ${LOG_BYTES}`)
  handle.pragma(`cache_size = -${cacheKib}`)
  handle.pragma('temp_store = MEMORY')
  return handle
}

/**
 * Maps the file into memory: reads then use the system's page cache, without a system call and a copy for each page. A
 * search over pages that are not in SQLite's cache takes a quarter less time. Writes are not affected.
 * https://sqlite.org/mmap.html
 */
export const mapFile = (handle: BetterSqlite.Database, mostBytes: number): void => {
  handle.pragma(`mmap_size = ${mostBytes}`)
}

export const openReader = (path: string, cacheKib: number): BetterSqlite.Database => {
  const handle = new BetterSqlite(path, { readonly: true, fileMustExist: true, timeout: BUSY_MS })
  handle.pragma(`cache_size = -${cacheKib}`)
  return handle
}

/** The recorded schema; `rows` runs a query on the file. */
export const readRecordedSqliteSchema = (rows: <R>(text: string) => R[]): RecordedSchema => {
  const tables = rows<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'").map(({ name }) => name)
  const migrations = tables.includes(MIGRATION_TABLE)
    ? rows<{ name: string; executed_at: string }>(`SELECT name, executed_at FROM ${MIGRATION_TABLE} ORDER BY id`)
    : []
  const pins = tables.includes('database_pin')
    ? rows<{ name: string; value: string }>('SELECT name, value FROM database_pin')
    : []
  return { migrations, pins: Object.fromEntries(pins.map(({ name, value }) => [name, value])) }
}
