/** Makes a database of a backup, at a path where there is none. */
import { constants, copyFileSync, existsSync, rmSync } from 'node:fs'
import BetterSqlite from 'better-sqlite3'
import { nameFile, removeUnfinished } from './back-up-file.ts'
import { checkWhole } from './check-whole.ts'
import { lockFile, realPath } from './file-lock.ts'
import { checkWritable, inspectFile } from './inspect.ts'

/** The first file that a database at this path would overwrite or take for its own. */
export const findOccupant = (path: string): string | undefined =>
  ['', '-wal', '-shm', '-journal'].map((suffix) => `${realPath(path)}${suffix}`).find(existsSync)

export interface RestoreOptions {
  /** Statements of the caller, run in the new database before it gets its name. */
  readonly statements: readonly { readonly text: string; readonly params: readonly (string | number)[] }[]
  /** A text that no other process uses. */
  readonly token: string
  readonly now: Date
}

/**
 * Throws what the server says of a file that is not its database, or not whole. Call `findOccupant` before: a file that
 * appears meanwhile is not replaced, and EEXIST is thrown.
 */
export const restoreFile = async (backup: string, path: string, options: RestoreOptions): Promise<void> => {
  const target = realPath(path)
  checkWritable(target)
  // Throws DatabaseInUse: a server that starts at this moment would make a database of the same name.
  const lock = lockFile(target, options.now, options.token)
  const unfinished = `${target}.restoring`
  try {
    removeUnfinished(unfinished)
    copyFileSync(backup, unfinished, constants.COPYFILE_FICLONE)
    await inspectFile(unfinished)
    const handle = new BetterSqlite(unfinished, { fileMustExist: true })
    try {
      checkWhole(handle, backup)
      handle.transaction(() => {
        for (const { text, params } of options.statements) handle.prepare(text).run(...params)
      })()
    } finally {
      handle.close()
    }
    nameFile(unfinished, target)
  } finally {
    if (existsSync(unfinished)) removeUnfinished(unfinished)
    rmSync(`${unfinished}-lock`, { force: true })
    lock.release()
  }
}
