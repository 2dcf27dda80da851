/**
 * One server for each SQLite file: a second one would not see what the first keeps in memory, and overwrite what the
 * first has numbered. The lock is an open transaction of SQLite on a small file beside the database: the system releases
 * it when the process ends, however it ends, so a lock file that was left behind refuses nobody. The file says who holds
 * it, and can be read while the lock is held. https://sqlite.org/lockingv3.html#reserved_lock
 */
import { readlinkSync, realpathSync, rmSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import BetterSqlite from 'better-sqlite3'
import { DatabaseInUse } from '../errors.ts'

const BUSY_MS = 1_000 // another process is writing down that it holds the lock
const ATTEMPTS = 5 // of processes that start at the same moment

export interface FileLock {
  readonly path: string
  /** False when the lock file was removed or replaced: then it keeps nobody away. One system call. */
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
    return undefined // no link
  }
}

/**
 * The path under which SQLite keeps the log: symbolic links are followed, also for a file that is not there yet, and links
 * that lead to where SQLite will make one.
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
const isBusy = (error: unknown): boolean => String((error as { code?: unknown }).code).startsWith('SQLITE_BUSY')

const readHolder = (handle: BetterSqlite.Database): Holder | undefined => {
  try {
    return handle.prepare<[], Holder>('SELECT pid, host, since, token FROM holder').get()
  } catch {
    return undefined // it is about to be written
  }
}

const inUse = (path: string, handle: BetterSqlite.Database, own: string): Error => {
  const holder = readHolder(handle)
  return holder === undefined || holder.token === own
    ? DatabaseInUse(path, 'another process that is starting')
    : DatabaseInUse(path, `process ${holder.pid} on ${holder.host}, since ${holder.since}`)
}

/** Writes down who holds it, and takes the lock. False when another process came between. */
const take = (handle: BetterSqlite.Database, holder: Holder): boolean => {
  handle.exec('BEGIN IMMEDIATE')
  handle.exec('CREATE TABLE IF NOT EXISTS holder (pid integer, host text, since text, token text); DELETE FROM holder')
  const { pid, host, since, token } = holder
  handle.prepare('INSERT INTO holder (pid, host, since, token) VALUES (?, ?, ?, ?)').run(pid, host, since, token)
  handle.exec('COMMIT')
  handle.exec('BEGIN IMMEDIATE')
  return readHolder(handle)?.token === token
}

/** Throws DatabaseInUse. `token`: a text that no other process has. */
export const lockFile = (path: string, since: Date, token: string): FileLock => {
  const lockPath = `${realPath(path)}-lock`
  for (let attempt = 1; ; attempt += 1) {
    const before = inodeOf(lockPath)
    const handle = new BetterSqlite(lockPath, { timeout: BUSY_MS })
    const opened = inodeOf(lockPath)
    let isTaken = false
    try {
      handle.pragma('synchronous = OFF') // a lock does not outlive the machine
      isTaken = take(handle, { pid: process.pid, host: hostname(), since: since.toISOString(), token })
      // Whoever held it last removes the file: what was opened a moment before is not the lock any more.
      isTaken &&= (before === undefined || before === opened) && inodeOf(lockPath) === opened
    } catch (error) {
      const refusal = isBusy(error) ? inUse(path, handle, token) : error
      handle.close()
      throw refusal
    }
    if (isTaken)
      return {
        path: lockPath,
        isHeld: () => inodeOf(lockPath) === opened,
        release() {
          try {
            // Removed while it is held. A folder that was emptied may hold the lock of another process by now.
            if (inodeOf(lockPath) === opened) rmSync(lockPath, { force: true })
          } catch {
            // One that stays behind refuses nobody.
          }
          handle.close()
        },
      }
    handle.close()
    if (attempt === ATTEMPTS) throw DatabaseInUse(path, 'another process that is starting')
  }
}
