/** How a transaction ends, for those who asked with `Transaction.afterEnd`. */
import type { Outcome } from '../contract.ts'

export interface Ending {
  /** True where COMMIT was sent, and the server has neither confirmed nor refused it. */
  isInDoubt: boolean
  listen(tell: (outcome: Outcome) => void): void
  /** To be called once. */
  tell(outcome: Outcome): void
}

export const createEnding = (): Ending => {
  const listeners: ((outcome: Outcome) => void)[] = []
  return {
    isInDoubt: false,
    listen: (tell) => void listeners.push(tell),
    tell(outcome) {
      for (const listener of listeners) listener(outcome)
    },
  }
}
