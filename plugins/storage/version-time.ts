/**
 * Version times in microseconds since the epoch. They are unique and ascending, so they also order all versions.
 * meta.lastUpdated is the version time in milliseconds, rounded down.
 */
import type { Clock } from '../../kernel/index.ts'
import { createInstants } from './instants.ts'

export interface VersionClock {
  /** A time after all times given before and after `after`, the time of the previous version. */
  next(after?: number): number
  /** `toInstant` of a version time, made once for the versions of the same millisecond. */
  instant(versionTime: number): string
  /** Ends the current millisecond, and returns its last microsecond: all times given from now on are later. */
  endMillisecond(): number
}

/** Servers that write at the same time use version times with different remainders modulo this number. */
const WRITERS = 16

/**
 * `last` is the newest version time in the database; all new times are later, even if the system clock was set back. `writer`
 * is the number of this server if several write; its remainder modulo WRITERS keeps their times apart.
 */
export const createVersionClock = (clock: Clock, last: number, writer?: number): VersionClock => {
  let newest = last
  const place = writer === undefined ? undefined : writer % WRITERS
  const instantOf = createInstants()
  return {
    next(after = 0) {
      const least = Math.max(clock.now() * 1000, newest + 1, after + 1)
      newest = place === undefined ? least : least + ((place - (least % WRITERS) + WRITERS) % WRITERS)
      return newest
    },
    instant: (versionTime) => instantOf(toMillis(versionTime)),
    endMillisecond() {
      newest = Math.floor(Math.max(clock.now() * 1000, newest) / 1000) * 1000 + 999
      return newest
    },
  }
}

export const toMillis = (stamp: number): number => Math.floor(stamp / 1000)

/** `2026-11-22T01:30:00.000Z` */
export const toInstant = (stamp: number): string => new Date(toMillis(stamp)).toISOString()

/** `Sun, 22 Nov 2026 01:30:00 GMT`. RFC 9110, section 5.6.7. */
export const toHttpDate = (stamp: number): string => new Date(toMillis(stamp)).toUTCString()
