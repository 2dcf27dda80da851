/** Measures the time for which a job works, which is not that in which it waits for answers. */
import type { Clock } from '../../../kernel/index.ts'

export interface WorkTimer {
  /** The job begins, or goes on. */
  resume(): void
  pause(): void
}

/** Calls `over` once the job has worked for so many milliseconds. */
export const createWorkTimer = (clock: Clock, budget: number, over: () => void): WorkTimer => {
  let left = budget
  /** Set while the job works; a new object each time. */
  let slice: { readonly begun: number } | undefined
  return {
    resume() {
      const now = { begun: clock.monotonic() }
      slice = now
      clock.deadline(Math.max(1, left)).addEventListener('abort', () => {
        if (slice === now) over()
      })
    },
    pause() {
      if (slice !== undefined) left -= clock.monotonic() - slice.begun
      slice = undefined
    },
  }
}
