/**
 * Copies a SQLite file that a server may be using to a new file, as of one moment, and checks the copy.
 * https://sqlite.org/backup.html
 */
import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import BetterSqlite from 'better-sqlite3'
import { systemRandom } from '../../../kernel/index.ts'
import { checkWhole } from './check-whole.ts'

const PAGES = 1_000 // of a step; the process can write its progress in between

export interface CopyProgress {
  readonly done: number
  readonly total: number
}

/** Waits until the file or folder is on disk. */
export const syncPath = (path: string): void => {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Gives a complete file its name, and throws EEXIST where another file has it: a rename would replace that one. */
export const nameFile = (complete: string, path: string): void => {
  syncPath(complete)
  linkSync(complete, path)
  rmSync(complete)
  syncPath(dirname(resolve(path)))
}

/** Removes a database that was not finished, with the files that SQLite made beside it. */
export const removeUnfinished = (path: string): void => {
  for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true })
}

const copyPages = async (path: string, copy: string, step: (progress: CopyProgress) => void): Promise<void> => {
  const handle = new BetterSqlite(path, { fileMustExist: true })
  try {
    // All steps copy what this transaction sees. Without it SQLite begins again whenever a server has committed.
    handle.exec('BEGIN')
    handle.prepare('SELECT count(*) FROM sqlite_schema').get()
    await handle.backup(copy, {
      progress({ totalPages, remainingPages }) {
        step({ done: totalPages - remainingPages, total: totalPages })
        return PAGES
      },
    })
    handle.exec('COMMIT')
  } finally {
    handle.close()
  }
}

/** `copy` must not exist. Throws DatabaseDamaged where the copy is not whole, and leaves no file then. */
export const backUpFile = async (path: string, copy: string, step: (progress: CopyProgress) => void): Promise<void> => {
  // Two copies to one name do not write into one file.
  const unfinished = `${copy}.${systemRandom.id()}.unfinished`
  try {
    await copyPages(path, unfinished, step)
    const handle = new BetterSqlite(unfinished, { fileMustExist: true })
    try {
      checkWhole(handle, path)
      // One file without a write-ahead log: a backup can be copied, and read from a folder that cannot be written.
      handle.pragma('journal_mode = DELETE')
    } finally {
      handle.close()
    }
    nameFile(unfinished, copy)
  } finally {
    if (existsSync(unfinished)) removeUnfinished(unfinished)
  }
}
