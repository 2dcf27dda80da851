/**
 * PRAGMA user_version counts the servers that were started on a file. A server that finds another number inside its own
 * transaction knows that another server has opened the file since, so its caches may be stale. Counting takes the write
 * lock: a transaction of an earlier server is either committed before, and visible to the new server, or begins later
 * and finds the new number. https://sqlite.org/pragma.html#pragma_user_version
 */
import type BetterSqlite from 'better-sqlite3'

const MAX_COUNT = 0x7fffffff // the number has 32 bits, with a sign

/**
 * Counts this start. The returned function says whether no server was started later; the answer is certain only inside
 * a transaction.
 */
export const countStart = (handle: BetterSqlite.Database): (() => boolean) => {
  const read = handle.prepare<[], number>('PRAGMA user_version').pluck()
  const own = handle
    .transaction(() => {
      const next = ((read.get() as number) % MAX_COUNT) + 1
      handle.pragma(`user_version = ${next}`)
      return next
    })
    .immediate()
  return () => read.get() === own
}
