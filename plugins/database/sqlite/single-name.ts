/**
 * Refuses a database file that can be reached by several names. SQLite finds the WAL by the file's name: two processes
 * that open one file by two names have a WAL each, do not see each other's commits and overwrite them; and their lock
 * files differ. https://sqlite.org/howtocorrupt.html#_multiple_links_to_the_same_file
 */
import { readFileSync, statSync } from 'node:fs'
import { DatabaseSeveralNames } from '../errors.ts'
import { realPath } from './file-lock.ts'
import { mountPoints } from './mount-points.ts'

const MOUNTINFO = '/proc/self/mountinfo' // Linux

const readMountinfo = (): string => {
  try {
    return readFileSync(MOUNTINFO, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '' // not Linux
    throw error
  }
}

/** Throws DatabaseSeveralNames for a file with several hard links, and for one that is a mount point. */
export const checkSingleName = (path: string): void => {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return
  if (stat.nlink > 1)
    throw DatabaseSeveralNames(
      path,
      `it has ${stat.nlink} hard links`,
      `Remove the other names (find <folder> -inum ${stat.ino} shows them)`,
    )
  if (mountPoints(readMountinfo()).has(realPath(path)))
    throw DatabaseSeveralNames(path, 'it is a mount point', 'Mount the folder that holds the file instead of the file')
}
