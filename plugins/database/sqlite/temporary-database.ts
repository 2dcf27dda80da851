/**
 * A temporary SQLite database for what is put together from large inputs without having them in memory. It is not the database of
 * the server. The file is deleted once it is open, so nothing is left behind by a process that is killed.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SqlParam } from '../contract.ts'

const CACHE_KB = 64 * 1024

export interface TemporaryStatement {
  run(...params: readonly SqlParam[]): { readonly changes: number }
  get(...params: readonly SqlParam[]): unknown
  all(...params: readonly SqlParam[]): unknown[]
}

export interface TemporaryDatabase {
  prepare(sql: string): TemporaryStatement
  /** Statements of `work` in one transaction. */
  together(work: () => void): void
  close(): void
}

const remove = (folder: string): void => {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch {
    // Windows keeps files that are open; they are removed when it is closed.
  }
}

/** `tables`: the statements that create them. */
export const openTemporaryDatabase = async (tables: readonly string[]): Promise<TemporaryDatabase> => {
  const { default: Sqlite } = await import('better-sqlite3')
  const folder = mkdtempSync(join(tmpdir(), 'refhir-'))
  const handle = new Sqlite(join(folder, 'temporary.sqlite'))
  // Nothing of it is needed after an interruption.
  for (const pragma of [
    'journal_mode = OFF',
    'synchronous = OFF',
    'locking_mode = EXCLUSIVE',
    `cache_size = -${CACHE_KB}`,
  ])
    handle.pragma(pragma)
  for (const table of tables) handle.exec(table)
  remove(folder)
  return {
    prepare: (sql) => handle.prepare<SqlParam[]>(sql),
    together(work) {
      handle.exec('BEGIN')
      work()
      handle.exec('COMMIT')
    },
    close() {
      handle.close()
      remove(folder)
    },
  }
}
