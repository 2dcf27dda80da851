/**
 * Checks whether the database and its WAL are still the files that were opened. SQLite continues to write into files
 * that were removed or replaced under it: everything would be acknowledged, and lost when the process ends.
 * https://sqlite.org/howtocorrupt.html#_unlinking_or_renaming_a_database_file_while_in_use
 */
import { linkSync, renameSync, rmSync, type Stats, statSync } from 'node:fs'

export interface OwnFiles {
  /**
   * What is wrong with the first file that is not the one that was opened; undefined when all are. One system call for
   * each: some microseconds.
   */
  fault(): string | undefined
  /**
   * True when the database was replaced, and the WAL of the opened one still lies beside the new file under its name: a
   * process that opens the new file would apply the WAL to it.
   */
  isLogMisplaced(): boolean
  /**
   * Calls `close`, which closes handles. With the last handle SQLite deletes the file with the name of the WAL, whichever
   * that is by then; this keeps the file if it belongs to a database that another server has put there.
   */
  closeApart(close: () => void): void
}

const SUFFIXES = ['', '-wal', '-shm']

const look = (path: string): Stats | undefined => statSync(path, { throwIfNoEntry: false })
const isSame = (one: Stats, other: Stats): boolean => one.ino === other.ino && one.dev === other.dev

/** `path` is without symbolic links; the database is open and has been written or read. */
export const watchOwnFiles = (path: string): OwnFiles => {
  const files = SUFFIXES.flatMap((suffix) => {
    const name = path + suffix
    const opened = look(name)
    return opened === undefined ? [] : [{ name, opened }]
  })
  /** Undefined when no file has the name, or none had it when it was opened. */
  const isOwn = (suffix: string): boolean | undefined => {
    const own = files.find(({ name }) => name === path + suffix)
    const now = look(path + suffix)
    return own === undefined || now === undefined ? undefined : isSame(now, own.opened)
  }
  const foreign = (): string[] =>
    SUFFIXES.slice(1).flatMap((suffix) => {
      const name = path + suffix
      const own = files.find((one) => one.name === name)
      const now = look(name)
      return now !== undefined && (own === undefined || !isSame(now, own.opened)) ? [name] : []
    })
  return {
    fault() {
      for (const { name, opened } of files) {
        let now: Stats | undefined
        try {
          now = look(name)
        } catch (error) {
          return `${name} cannot be reached (${(error as NodeJS.ErrnoException).code})`
        }
        if (now === undefined) return `${name} was removed`
        if (!isSame(now, opened)) return `${name} was replaced by another file`
      }
      return undefined
    },
    isLogMisplaced: () => isOwn('') === false && isOwn('-wal') === true,
    closeApart(close) {
      const kept = foreign().map((name) => ({ name, aside: `${name}.${process.pid}` }))
      for (const { name, aside } of kept) {
        rmSync(aside, { force: true })
        linkSync(name, aside)
      }
      close()
      for (const { name, aside } of kept) renameSync(aside, name)
    },
  }
}
