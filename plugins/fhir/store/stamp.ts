/**
 * The moment of a version in microseconds since the epoch: unique and growing, so that it is also the order of all
 * versions. Its milliseconds are meta.lastUpdated.
 */
import type { Clock } from '../../../kernel/index.ts'

export interface Stamper {
  next(): number
}

/** `last` is the newest stamp in the database; a clock that went back does not go behind it. */
export const createStamper = (clock: Clock, last: number): Stamper => {
  let newest = last
  return {
    next() {
      newest = Math.max(clock.now() * 1000, newest + 1)
      return newest
    },
  }
}

export const toMillis = (stamp: number): number => Math.floor(stamp / 1000)
export const toInstant = (stamp: number): string => new Date(toMillis(stamp)).toISOString()
