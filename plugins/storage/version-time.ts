/**
 * The moment of a version in microseconds since the epoch: unique and growing, so that it is also the order of all
 * versions. Its milliseconds are meta.lastUpdated.
 */
import type { Clock } from '../../kernel/index.ts'

export interface VersionClock {
  /** Behind all that were given, and behind `after`, the stamp of the version before. */
  next(after?: number): number
}

/** Servers that write at the same time give stamps that differ in the remainder by this. */
const WRITERS = 16

/**
 * `last` is the newest stamp in the database; a clock that went back does not go behind it. `writer`: the number of this
 * server where several write, so that no two give the same stamp.
 */
export const createVersionClock = (clock: Clock, last: number, writer?: number): VersionClock => {
  let newest = last
  const place = writer === undefined ? undefined : writer % WRITERS
  return {
    next(after = 0) {
      const least = Math.max(clock.now() * 1000, newest + 1, after + 1)
      newest = place === undefined ? least : least + ((place - (least % WRITERS) + WRITERS) % WRITERS)
      return newest
    },
  }
}

export const toMillis = (stamp: number): number => Math.floor(stamp / 1000)

/** `2026-11-22T01:30:00.000Z` */
export const toInstant = (stamp: number): string => new Date(toMillis(stamp)).toISOString()

/** `Sun, 22 Nov 2026 01:30:00 GMT`. RFC 9110, section 5.6.7. */
export const toHttpDate = (stamp: number): string => new Date(toMillis(stamp)).toUTCString()
