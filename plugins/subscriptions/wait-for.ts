/** A wait that ends with `ring`, or after some time. */
import type { Clock } from '../../kernel/index.ts'

export interface Bell {
  /** Ends the wait, or the next one. */
  ring(): void
  /** Resolves when it rings, at once if it has rung since the last wait, and after `ms` at the latest. */
  wait(ms?: number): Promise<void>
}

export const createBell = (clock: Pick<Clock, 'deadline'>): Bell => {
  let hasRung = false
  let waiting: (() => void) | undefined
  return {
    ring() {
      hasRung = true
      waiting?.()
    },
    wait(ms) {
      return new Promise((resolve) => {
        const end = (): void => {
          if (waiting !== end) return
          waiting = undefined
          hasRung = false
          resolve()
        }
        waiting = end
        if (hasRung) end()
        else if (ms !== undefined) clock.deadline(ms).addEventListener('abort', end, { once: true })
      })
    },
  }
}
