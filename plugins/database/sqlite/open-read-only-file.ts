/**
 * Opens a SQLite file read-only and leaves the file and its folder as they were. A read-only connection to a WAL
 * database creates -wal and -shm files; `immutable` creates none, and may be used when there is no WAL, since then no
 * process has the file open. better-sqlite3 does not accept such a URI, Node's own driver does.
 * https://sqlite.org/uri.html
 */
import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import BetterSqlite from 'better-sqlite3'
import type { SqlParam } from '../contract.ts'

export interface ReadOnlyConnection {
  rows<R>(text: string, params?: readonly SqlParam[]): R[]
  close(): void
}

export const openReadOnlyFile = async (path: string): Promise<ReadOnlyConnection> => {
  if (existsSync(`${path}-wal`)) {
    const handle = new BetterSqlite(path, { readonly: true, fileMustExist: true })
    const rows = <R>(text: string, params: readonly SqlParam[] = []) => handle.prepare(text).all(...params) as R[]
    return { rows, close: () => void handle.close() }
  }
  const { DatabaseSync } = await import('node:sqlite')
  const handle = new DatabaseSync(new URL(`${pathToFileURL(path)}?immutable=1`), { readOnly: true })
  const rows = <R>(text: string, params: readonly SqlParam[] = []) => handle.prepare(text).all(...params) as R[]
  return { rows, close: () => handle.close() }
}
