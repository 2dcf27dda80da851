/**
 * A temporary database for a release: its tables come in files of their own, in no common order, and are put together by concept
 * without having them in memory. The file is deleted once it is open, so nothing is left behind by a process that is killed.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type BetterSqlite from 'better-sqlite3'

const CACHE_KB = 64 * 1024

export interface Staging {
  prepare(sql: string): BetterSqlite.Statement
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

export const openStaging = async (tables: readonly string[]): Promise<Staging> => {
  const { default: Sqlite } = await import('better-sqlite3')
  const folder = mkdtempSync(join(tmpdir(), 'refhir-load-'))
  const handle = new Sqlite(join(folder, 'staging.sqlite'))
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
    prepare: (sql) => handle.prepare(sql),
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
