/** A wait that a time or somebody ends. */
import type { Clock } from '../../kernel/index.ts'

export interface Bell {
  /** Ends the wait, or the next one. */
  ring(): void
  /** Resolves when it rings, at once where it has since the last wait; `ms`: at the latest then. */
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
