/** The system's clock, with deadlines that pass when the test calls `pass`. */
import { type Clock, systemClock } from '../../kernel/index.ts'

export interface Deadlines {
  readonly clock: Clock
  /** Lengths of all deadlines until now, in milliseconds, in order. */
  readonly asked: readonly number[]
  /** Lets all deadlines of this length pass. */
  pass(ms: number): void
}

export const createDeadlines = (): Deadlines => {
  const deadlines: { readonly ms: number; readonly controller: AbortController }[] = []
  return {
    clock: {
      ...systemClock,
      deadline(ms) {
        const controller = new AbortController()
        deadlines.push({ ms, controller })
        return controller.signal
      },
    },
    get asked() {
      return deadlines.map(({ ms }) => ms)
    },
    pass(ms) {
      for (const deadline of deadlines) if (deadline.ms === ms) deadline.controller.abort()
    },
  }
}
