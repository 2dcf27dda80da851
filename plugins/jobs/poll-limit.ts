/** Limits how often a client may poll a job that runs. */
import type { Clock } from '../../kernel/index.ts'

const MIN_SECONDS = 1
const MAX_SECONDS = 30
const SLACK = 0.9 // of the announced time, because timers of clients are early
const MAX_JOBS = 10_000

export interface PollLimit {
  /** `age` of the job in milliseconds. `isEarly`: before the time that was announced last. */
  poll(job: string, age: number): { readonly seconds: number; readonly isEarly: boolean }
}

export const createPollLimit = (clock: Clock): PollLimit => {
  const due = new Map<string, number>()
  return {
    poll(job, age) {
      const now = clock.monotonic()
      const before = due.get(job)
      if (before !== undefined && now < before)
        return { seconds: Math.max(1, Math.ceil((before - now) / 1000)), isEarly: true }
      const seconds = Math.min(MAX_SECONDS, Math.max(MIN_SECONDS, Math.floor(age / 20_000)))
      if (due.size >= MAX_JOBS) due.clear()
      due.set(job, now + seconds * 1000 * SLACK)
      return { seconds, isEarly: false }
    },
  }
}
