/**
 * Runs steps of some ten milliseconds in separate ticks of the event loop, so that other work runs between two steps.
 */

export interface OwnTurns {
  /** Runs `step` in a tick in which no other step runs. */
  take<T>(step: () => T): Promise<T>
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export const createOwnTurns = (): OwnTurns => {
  let last: Promise<void> = Promise.resolve()
  return {
    take(step) {
      const done = last.then(turn).then(step)
      // The next step waits for another tick, whether this one succeeds or fails.
      last = done.then(turn, turn)
      return done
    },
  }
}
