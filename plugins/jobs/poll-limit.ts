/** How often a client may ask for a job that runs. */
import type { Clock } from '../../kernel/index.ts'

const LEAST_SECONDS = 1
const MOST_SECONDS = 30
const SLACK = 0.9 // of the time that was told: timers of clients are early
const MOST_KEPT = 10_000

export interface PollLimit {
  /** `age` of the job in milliseconds. `isEarly`: before the time that was told last. */
  asked(job: string, age: number): { readonly seconds: number; readonly isEarly: boolean }
}

export const createPollLimit = (clock: Clock): PollLimit => {
  const due = new Map<string, number>()
  return {
    asked(job, age) {
      const now = clock.monotonic()
      const before = due.get(job)
      if (before !== undefined && now < before)
        return { seconds: Math.max(1, Math.ceil((before - now) / 1000)), isEarly: true }
      const seconds = Math.min(MOST_SECONDS, Math.max(LEAST_SECONDS, Math.floor(age / 20_000)))
      if (due.size >= MOST_KEPT) due.clear()
      due.set(job, now + seconds * 1000 * SLACK)
      return { seconds, isEarly: false }
    },
  }
}
