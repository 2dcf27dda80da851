/**
 * What the server does when its lock file was removed or replaced while it runs: it takes a new lock, so that a server
 * that is started later is refused. When another server has the lock, or has had it meanwhile, this one stores nothing any
 * more: the other one does not know what this one would write, and this one not what the other one has written.
 */
import { isServerError, type Logger } from '../../../kernel/index.ts'
import { DatabaseTaken, DatabaseUnavailable } from '../errors.ts'
import type { FileLock } from './file-lock.ts'
import type { OwnFiles } from './own-files.ts'

export interface LockWatch {
  /**
   * Called inside each transaction before it writes: until its COMMIT no other server can count its start. Throws
   * DatabaseTaken, from then on always, and DatabaseUnavailable while no new lock can be made.
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
  /** Is this server the last one that was started on the file? */
  readonly isLatest: () => boolean
  readonly files: Pick<OwnFiles, 'fault'>
  readonly log: Logger
}

export const watchLock = ({ lock: first, lockAgain, isLatest, files, log }: LockWatchParts): LockWatch => {
  let lock = first
  let isTaken = false

  const refuse = (reason: string): never => {
    isTaken = true
    log.error(
      { reason },
      `another server has opened the database while this one runs, because the file ${lock.path} was removed or replaced: this server takes no more writes. Everything it has acknowledged is in the database; stop it`,
    )
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
        // Of a database that was removed or replaced itself the file guard tells: the lock of that name is another one's.
        if (files.fault() !== undefined) return
        takeAgain()
      }
      // After the lock, also outside of a transaction: a server that came and went has been counted by then.
      if (!isLatest()) refuse('a server was started on the file later')
    },
    get isTaken() {
      return isTaken
    },
    release: () => lock.release(),
  }
}
