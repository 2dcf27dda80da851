/** A clock that stands still until the test moves it; deadlines pass on the way, in their order. */
import type { Clock } from '../../kernel/index.ts'

export interface ManualClock extends Clock {
  /** Moves the clock on, and waits for the work that becomes due. */
  advance(ms: number): Promise<void>
  /**
   * Lets a long time go by at once, as on a machine that slept: what is due is done at its end, and what repeats is done once.
   * `advance` does it as often as it was due, which for hours is tens of thousands of times.
   */
  leap(ms: number): Promise<void>
  /** Sets the time of day, but not the monotonic time, as an operator or a time server would. */
  set(now: number): void
}

/**
 * Waits a few turns of the event loop for the work that a deadline started. Where that work uses a database, the test
 * has to wait for its effect.
 */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
}

export const createManualClock = (start = Date.UTC(2026, 0, 15, 12)): ManualClock => {
  let now = start
  let monotonic = 0
  // Made once: an exception takes its stack, which is most of what a deadline would take.
  const passed = new DOMException('The time has passed.', 'TimeoutError')
  let deadlines: { readonly at: number; readonly controller: AbortController }[] = []
  return {
    now: () => now,
    monotonic: () => monotonic,
    deadline(ms) {
      const controller = new AbortController()
      deadlines.push({ at: monotonic + ms, controller })
      return controller.signal
    },
    async advance(ms) {
      const end = monotonic + ms
      for (;;) {
        const next = deadlines.filter(({ at }) => at <= end).sort((one, other) => one.at - other.at)[0]
        const to = next?.at ?? end
        now += to - monotonic
        monotonic = to
        if (next === undefined) break
        deadlines = deadlines.filter((one) => one !== next)
        next.controller.abort(passed)
        await settle()
      }
    },
    async leap(ms) {
      now += ms
      monotonic += ms
      const due = deadlines.filter(({ at }) => at <= monotonic).sort((one, other) => one.at - other.at)
      deadlines = deadlines.filter(({ at }) => at > monotonic)
      for (const { controller } of due) {
        controller.abort(passed)
        await settle()
      }
    },
    set(time) {
      now = time
    },
  }
}
