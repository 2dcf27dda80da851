/** For how long the holder of the writer lease may answer: until no other server can have taken it. */
import type { Clock } from '../../../kernel/index.ts'
import type { Times } from './times.ts'

/** A time on both clocks. */
export interface Moment {
  readonly monotonic: number
  readonly wall: number
}

export interface Tenure {
  /** The time before a beat is sent. */
  now(): Moment
  /** The beat that was sent then is confirmed. */
  confirm(sent: Moment): void
  /** Asked for each request. */
  isValid(): boolean
}

export const createTenure = (clock: Clock, times: Pick<Times, 'valid' | 'suspended'>): Tenure => {
  let until = Number.NEGATIVE_INFINITY
  let ahead = 0 // of the wall clock, at the last beat
  const now = (): Moment => ({ monotonic: clock.monotonic(), wall: clock.now() })
  return {
    now,
    confirm({ monotonic, wall }) {
      until = Math.max(until, monotonic + times.valid)
      ahead = wall - monotonic
    },
    isValid() {
      const monotonic = clock.monotonic()
      // While a machine is suspended its monotonic clock may stand still.
      return monotonic < until && clock.now() - monotonic - ahead < times.suspended
    },
  }
}
