/** Steps of some ten milliseconds, each in a turn of its own: what others do comes between two of them. */

export interface OwnTurns {
  /** Runs `step` in a turn in which no other step runs. */
  take<T>(step: () => T): Promise<T>
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export const createOwnTurns = (): OwnTurns => {
  let last: Promise<void> = Promise.resolve()
  return {
    take(step) {
      const done = last.then(turn).then(step)
      // The next one waits for another turn, whatever became of this one.
      last = done.then(turn, turn)
      return done
    },
  }
}
