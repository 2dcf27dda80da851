/**
 * PRAGMA user_version counts the servers that were started on a file. A server that finds another number inside a
 * transaction of its own knows that another one has opened the file since: what it keeps in memory is not what is stored.
 * Counting waits for the write lock, so every transaction of an earlier server either was committed before, and is seen
 * by the one that starts, or begins later, and finds the new number. https://sqlite.org/pragma.html#pragma_user_version
 */
import type BetterSqlite from 'better-sqlite3'

const MAX_COUNT = 0x7fffffff // the number has 32 bits, with a sign

/** Counts this start. The function that is returned tells whether it is still the last one, inside a transaction for sure. */
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
