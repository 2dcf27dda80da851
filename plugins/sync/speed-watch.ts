/** Whether a client takes what it is sent. Times are monotonic. */

const MAX_UNSENT = 1_048_576 // bytes; what comes then waits, merged by resource
const RESET_MS = 30_000 // without progress
const CLOSE_MS = 60_000

export interface SpeedWatch {
  readonly isFull: boolean
  /** Once a second: what has to happen to the connection's queries, or to the connection. */
  tick(now: number): 'nothing' | 'reset' | 'close'
}

export const createSpeedWatch = (unsent: () => number, openedAt: number): SpeedWatch => {
  let before = 0
  let progressAt = openedAt
  return {
    get isFull() {
      return unsent() > MAX_UNSENT
    },
    tick(now) {
      const left = unsent()
      if (left <= MAX_UNSENT || left < before) progressAt = now
      before = left
      const still = now - progressAt
      return still >= CLOSE_MS ? 'close' : still >= RESET_MS ? 'reset' : 'nothing'
    },
  }
}
