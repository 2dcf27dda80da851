/**
 * Transactions of this process that are after the same lock wait here, one behind the other, before they take a session. In
 * PostgreSQL each of them would keep a session waiting, until those that hold the lock, or want another one, find none.
 *
 * Only who holds nothing waits here: no session, no lock, no other turn. So what waits here is never what something else
 * waits for, and no ring of waits can go through this place, where PostgreSQL would not see it.
 */
import { HeldUp } from '../errors.ts'

export interface Turns {
  /** Gives the turn's end, at once when nobody has it. Throws HeldUp after the time that a waiter has. */
  take(name: string): (() => void) | Promise<() => void>
}

interface Waiter {
  readonly resolve: () => void
}

/** `waitMs`: how long one waits. */
export const createTurns = (waitMs: number): Turns => {
  /** Whoever waits for a name; the name is there as long as somebody has the turn. */
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
