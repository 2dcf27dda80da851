/** The session of one transaction, and its turn among those of this process that want the same lock. */
import type { MaybePromise } from '../contract.ts'
import type { Lease } from './loan.ts'
import type { Turns } from './turns.ts'

export interface BorrowedSession {
  readonly acquire: () => Lease | Promise<Lease>
  /** Set by the first function that needs a session. Undefined before that, and after `release`. */
  lease: Lease | undefined
  /** Waits for the turn of this name, unless the transaction has one. A promise only where it has to wait. */
  queue(name: string): MaybePromise<void>
  /** Returns the session, if there is one, and ends the turn. */
  release(): void
}

/** `turns`: without them it does not wait. */
export const createBorrowedSession = (acquire: BorrowedSession['acquire'], turns?: Turns): BorrowedSession => {
  let endTurn: (() => void) | undefined
  return {
    acquire,
    lease: undefined,
    queue(name) {
      if (turns === undefined || endTurn !== undefined) return undefined
      const turn = turns.take(name)
      if (!(turn instanceof Promise)) {
        endTurn = turn
        return undefined
      }
      return turn.then((end) => {
        endTurn = end
      })
    },
    release() {
      this.lease?.release()
      this.lease = undefined
      endTurn?.()
      endTurn = undefined
    },
  }
}
