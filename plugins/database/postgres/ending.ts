/** How a transaction ends, and who listens for it with `Transaction.afterEnd`. */
import type { Outcome } from '../contract.ts'

export interface Ending {
  /** True where COMMIT was sent, and the server has neither confirmed nor refused it. */
  isInDoubt: boolean
  listen(listener: (outcome: Outcome) => void): void
  /** To be called once. */
  notify(outcome: Outcome): void
}

export const createEnding = (): Ending => {
  const listeners: ((outcome: Outcome) => void)[] = []
  return {
    isInDoubt: false,
    listen: (listener) => void listeners.push(listener),
    notify(outcome) {
      for (const listener of listeners) listener(outcome)
    },
  }
}
