/**
 * Allows one server for each SQLite file: a second one would not see the first one's caches, and would overwrite rows
 * with the same numbers. The lock is an open transaction of SQLite on a small file beside the database. The system
 * releases it when the process ends in any way, so a lock file that was left behind blocks nobody. The file says who
 * holds the lock, and can be read meanwhile. https://sqlite.org/lockingv3.html#reserved_lock
 */
import { readlinkSync, realpathSync, rmSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import BetterSqlite from 'better-sqlite3'
import { DatabaseInUse } from '../errors.ts'

const BUSY_MS = 1_000 // milliseconds; another process may be writing its name into the file
const POLL_BUSY_MS = 20 // milliseconds for a process that tries again later: the main thread stands still meanwhile
const ATTEMPTS = 5 // for processes that start at the same moment

export interface FileLock {
  readonly path: string
  /** False when the lock file was removed or replaced, and so keeps no other server out. One system call. */
  isHeld(): boolean
  release(): void
}

interface Holder {
  readonly pid: number
  readonly host: string
  readonly since: string
  readonly token: string
}

const LINKS = 40 // as many as Linux follows

const linkTarget = (path: string): string | undefined => {
  try {
    return readlinkSync(path)
  } catch {
    return undefined // not a link
  }
}

/**
 * The path beside which SQLite keeps the WAL: symbolic links are resolved, also for a file that does not exist yet, and for
 * a link to such a file.
 */
export const realPath = (path: string, links = LINKS): string => {
  try {
    return realpathSync(path)
  } catch {
    try {
      const folder = realpathSync(dirname(resolve(path)))
      const named = join(folder, basename(path))
      const target = links > 0 ? linkTarget(named) : undefined
      return target === undefined ? named : realPath(resolve(folder, target), links - 1)
    } catch {
      return resolve(path)
    }
  }
}

const inodeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.ino
/** The holder has removed the file meanwhile: what was opened is not the lock any more. */
const isRemoved = (error: unknown): boolean => (error as { code?: unknown }).code === 'SQLITE_READONLY_DBMOVED'
const isBusy = (error: unknown): boolean => String((error as { code?: unknown }).code).startsWith('SQLITE_BUSY')

const readHolder = (handle: BetterSqlite.Database): Holder | undefined => {
  try {
    return handle.prepare<[], Holder>('SELECT pid, host, since, token FROM holder').get()
  } catch {
    return undefined // its holder has not written it yet
  }
}

const inUse = (path: string, handle: BetterSqlite.Database, own: string): Error => {
  const holder = readHolder(handle)
  return holder === undefined || holder.token === own
    ? DatabaseInUse(path, 'another process that is starting')
    : DatabaseInUse(path, `process ${holder.pid} on ${holder.host}, since ${holder.since}`)
}

/** Writes the holder into the file and takes the lock. False when another process took it in between. */
const take = (handle: BetterSqlite.Database, holder: Holder): boolean => {
  handle.exec('BEGIN IMMEDIATE')
  handle.exec('CREATE TABLE IF NOT EXISTS holder (pid integer, host text, since text, token text); DELETE FROM holder')
  const { pid, host, since, token } = holder
  handle.prepare('INSERT INTO holder (pid, host, since, token) VALUES (?, ?, ?, ?)').run(pid, host, since, token)
  handle.exec('COMMIT')
  handle.exec('BEGIN IMMEDIATE')
  return readHolder(handle)?.token === token
}

/** Throws DatabaseInUse. `token` is a text that no other process uses. `isPolling`: the caller tries again. */
export const lockFile = (path: string, since: Date, token: string, isPolling = false): FileLock => {
  const lockPath = `${realPath(path)}-lock`
  for (let attempt = 1; ; attempt += 1) {
    const before = inodeOf(lockPath)
    const handle = new BetterSqlite(lockPath, { timeout: isPolling ? POLL_BUSY_MS : BUSY_MS })
    const opened = inodeOf(lockPath)
    let isTaken = false
    try {
      handle.pragma('synchronous = OFF') // a lock need not survive a crash of the machine
      isTaken = take(handle, { pid: process.pid, host: hostname(), since: since.toISOString(), token })
      // The last holder removes the file on release: one that was opened just before is not the lock any more.
      isTaken &&= (before === undefined || before === opened) && inodeOf(lockPath) === opened
    } catch (error) {
      const refusal = isBusy(error) ? inUse(path, handle, token) : error
      if (!isRemoved(error)) {
        handle.close()
        throw refusal
      }
    }
    if (isTaken)
      return {
        path: lockPath,
        isHeld: () => inodeOf(lockPath) === opened,
        release() {
          try {
            // Removed while the lock is held, and only if it is this file: in a folder that was emptied it may be
            // another process's lock.
            if (inodeOf(lockPath) === opened) rmSync(lockPath, { force: true })
          } catch {
            // A file that stays behind blocks nobody.
          }
          handle.close()
        },
      }
    handle.close()
    if (attempt === ATTEMPTS) throw DatabaseInUse(path, 'another process that is starting')
  }
}
