/**
 * Reacts when the lock file was removed or replaced while the server runs: takes a new lock, so that a server that is
 * started later is refused. When another server has the lock, or has had it meanwhile, this server stops writing:
 * neither knows what the other one has written.
 */
import { isServerError, type Logger } from '../../../kernel/index.ts'
import { DatabaseTaken, DatabaseUnavailable } from '../errors.ts'
import type { FileLock } from './file-lock.ts'
import type { OwnFiles } from './own-files.ts'

export interface LockWatch {
  /**
   * Called inside each transaction before it writes: until its COMMIT no other server can count its start. Throws
   * DatabaseTaken, and from then on always; throws DatabaseUnavailable while no new lock can be taken.
   */
  hold(): void
  /** True when another server has opened the file. */
  readonly isTaken: boolean
  release(): void
}

export interface LockWatchParts {
  readonly lock: FileLock
  /** Takes a new lock. Throws DatabaseInUse when another process has it. */
  readonly lockAgain: () => FileLock
  /** Whether no other server was started on the file later. */
  readonly isLatest: () => boolean
  readonly files: Pick<OwnFiles, 'fault'>
  /** Called once when another server has opened the file. */
  readonly onTaken: () => void
  readonly log: Logger
}

export const watchLock = ({ lock: first, lockAgain, isLatest, files, onTaken, log }: LockWatchParts): LockWatch => {
  let lock = first
  let isTaken = false

  const refuse = (reason: string): never => {
    isTaken = true
    log.error(
      { reason },
      `another server has opened the database while this one runs, because the file ${lock.path} was removed or replaced: this server takes no more writes. Everything it has acknowledged is in the database; stop it`,
    )
    onTaken()
    throw DatabaseTaken()
  }
  const takeAgain = (): void => {
    let fresh: FileLock
    try {
      fresh = lockAgain()
    } catch (error) {
      if (isServerError(error)) refuse(error.message)
      log.error({ err: error }, `${lock.path} was removed or replaced while this server runs, and cannot be made again`)
      throw DatabaseUnavailable().with({ cause: error, detail: `${lock.path} cannot be made again` })
    }
    lock.release()
    lock = fresh
    log.warn(`${lock.path} was removed or replaced while this server runs; it was made again`)
  }
  return {
    hold() {
      if (isTaken) throw DatabaseTaken()
      if (!lock.isHeld()) {
        // The file guard reports a database that was itself removed or replaced; then the lock of that name belongs to
        // another one.
        if (files.fault() !== undefined) return
        takeAgain()
      }
      // Checked after the lock, also outside of a transaction: a server that has come and gone has counted its start by
      // then.
      if (!isLatest()) refuse('a server was started on the file later')
    },
    get isTaken() {
      return isTaken
    },
    release: () => lock.release(),
  }
}
