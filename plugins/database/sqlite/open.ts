/** Opens the handles of a SQLite database. https://sqlite.org/pragma.html */
import BetterSqlite from 'better-sqlite3'
import { MIGRATION_TABLE, type RecordedSchema } from '../schema.ts'
import { APPLICATION_ID } from './inspect.ts'

const PAGE_BYTES = 8_192 // bodies of one or two kilobytes stay on one page
const BUSY_MS = 2_000 // the writer waits on the main thread: not for long
const CACHE_KIB = 32_768

/** The writing handle: WAL, and FULL so that a commit that returned is on disk. */
export const openWriter = (path: string, isNew: boolean): BetterSqlite.Database => {
  const handle = new BetterSqlite(path, { timeout: BUSY_MS })
  if (isNew) {
    handle.pragma(`page_size = ${PAGE_BYTES}`)
    handle.pragma(`application_id = ${APPLICATION_ID}`)
  }
  if (path !== ':memory:') handle.pragma('journal_mode = WAL')
  handle.pragma('synchronous = FULL')
  // A checkpoint inside a commit stalls the event loop: a thread of its own does it.
  handle.pragma('wal_autocheckpoint = 0')
  handle.pragma(`cache_size = -${CACHE_KIB}`)
  handle.pragma('temp_store = MEMORY')
  return handle
}

export const openReader = (path: string): BetterSqlite.Database => {
  const handle = new BetterSqlite(path, { readonly: true, fileMustExist: true, timeout: BUSY_MS })
  handle.pragma(`cache_size = -${CACHE_KIB}`)
  return handle
}

/** For a look that leaves the file as it is. */
export const openToInspect = (path: string): BetterSqlite.Database =>
  new BetterSqlite(path, { readonly: true, fileMustExist: true, timeout: BUSY_MS })

export const readRecordedSchema = (handle: BetterSqlite.Database): RecordedSchema => {
  const has = handle.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?")
  const migrations =
    has.get(MIGRATION_TABLE) === undefined
      ? []
      : (handle.prepare(`SELECT name, executed_at FROM ${MIGRATION_TABLE} ORDER BY id`).all() as {
          name: string
          executed_at: string
        }[])
  const pins =
    has.get('database_pin') === undefined
      ? []
      : (handle.prepare('SELECT name, value FROM database_pin').all() as { name: string; value: string }[])
  return { migrations, pins: Object.fromEntries(pins.map(({ name, value }) => [name, value])) }
}
