/**
 * Reacts when the database file was removed or replaced: logs it once, acknowledges no more writes, opens nothing by
 * that name, and copies the committed data to a file beside it.
 */
import { renameSync, rmSync } from 'node:fs'
import type BetterSqlite from 'better-sqlite3'
import type { Clock, Logger } from '../../../kernel/index.ts'
import { DatabaseGone } from '../errors.ts'
import { copyDatabase } from './copy-database.ts'
import type { OwnFiles } from './own-files.ts'

export interface FileGuard {
  /** Checks the files. Throws DatabaseGone from the first fault on, also when the files are back. */
  confirm(): void
  /** The result of the last check. */
  readonly isLost: boolean
  /** Resolves when the copy is made or has failed. */
  settled(): Promise<void>
}

/** Extras of the refusal of a write: the log has the fault already. */
const TOLD = Object.freeze({ isExpected: true })

export interface FileGuardParts {
  /** Without symbolic links. */
  readonly path: string
  readonly files: Pick<OwnFiles, 'fault' | 'isLogMisplaced'>
  /** The writer's handle, which still reaches all committed data. */
  readonly handle: BetterSqlite.Database
  readonly clock: Clock
  readonly log: Logger
}

export const createFileGuard = ({ path, files, handle, clock, log }: FileGuardParts): FileGuard => {
  let isLost = false
  let saving: Promise<void> = Promise.resolve()

  const setLogAside = (copy: string): void => {
    if (!files.isLogMisplaced()) return
    renameSync(`${path}-wal`, `${copy}.wal`)
    rmSync(`${path}-shm`, { force: true })
  }
  const save = async (copy: string): Promise<void> => {
    try {
      setLogAside(copy)
      await copyDatabase(handle, copy)
      log.info({ copy }, 'everything that was committed was copied')
    } catch (error) {
      log.error(
        { err: error, pid: process.pid },
        'what was committed could not be copied: before stopping this process, copy its open files from /proc/<pid>/fd',
      )
    }
  }
  return {
    confirm() {
      if (isLost) throw DatabaseGone().with(TOLD)
      const fault = files.fault()
      if (fault === undefined) return
      isLost = true
      const copy = `${path}-saved-${new Date(clock.now()).toISOString().replaceAll(/[-:.]/g, '')}`
      log.error(
        { fault, copy },
        `${fault} while this server runs: it takes no more writes and copies everything committed to ${copy}; when that is there, stop the server, move the copy to ${path} and start again`,
      )
      saving = save(copy)
      throw DatabaseGone().with(TOLD)
    },
    get isLost() {
      return isLost
    },
    settled: () => saving,
  }
}
