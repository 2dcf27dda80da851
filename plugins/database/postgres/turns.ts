/**
 * Transactions of this process that want the same lock wait here, one after the other, before they take a session. If
 * they waited in PostgreSQL, each would occupy a session, and the transaction that holds the lock might find none.
 *
 * A transaction waits here only while it holds nothing: no session, no lock, no other turn. So nothing waits for a
 * transaction that waits here, and no deadlock can involve this place, where PostgreSQL could not detect it.
 */
import { HeldUp } from '../errors.ts'

export interface Turns {
  /** Returns a function that ends the turn, synchronously when the name is free. Throws HeldUp after the time limit. */
  take(name: string): (() => void) | Promise<() => void>
}

interface Waiter {
  readonly resolve: () => void
}

/** `waitMs`: milliseconds that a transaction may wait. */
export const createTurns = (waitMs: number): Turns => {
  /** Waiters by name; a name is present while some transaction has its turn. */
  const lines = new Map<string, Waiter[]>()
  const endOf = (name: string): (() => void) => {
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      const next = lines.get(name)?.shift()
      if (next === undefined) lines.delete(name)
      else next.resolve()
    }
  }
  return {
    take(name) {
      const line = lines.get(name)
      if (line === undefined) {
        lines.set(name, [])
        return endOf(name)
      }
      return new Promise((resolve, reject) => {
        const waiter: Waiter = {
          resolve() {
            clearTimeout(timer)
            resolve(endOf(name))
          },
        }
        const timer = setTimeout(() => {
          line.splice(line.indexOf(waiter), 1)
          reject(HeldUp())
        }, waitMs)
        line.push(waiter)
      })
    },
  }
}
