/** Borrowers that wait for a session of the pool, in the order in which they asked. */
import { PoolExhausted } from './errors.ts'
import type { AcquireOptions, Lease } from './loan.ts'

interface Waiter {
  readonly long: boolean
  resolve(lease: Lease): void
  reject(error: unknown): void
}

export interface SessionWaiters {
  readonly count: number
  /** How many of them asked with `long`. */
  readonly countLong: number
  /** True where somebody waits who may have a session; `allowLong`: borrowers with `long` may have one too. */
  hasNext(allowLong: boolean): boolean
  /** Gives a session to the next of them; false where there is none to give. */
  serve(allowLong: boolean, lease: (long: boolean) => Lease | undefined): boolean
  /** Waits for a session. Throws PoolExhausted after `waitMs` milliseconds, and the reason of the signal. */
  wait(options: AcquireOptions): Promise<Lease>
  rejectAll(error: unknown): void
}

export const createSessionWaiters = (waitMs: number): SessionWaiters => {
  const waiters: Waiter[] = []
  const next = (allowLong: boolean): Waiter | undefined => waiters.find(({ long }) => allowLong || !long)
  const leave = (waiter: Waiter): void => {
    const at = waiters.indexOf(waiter)
    if (at !== -1) waiters.splice(at, 1)
  }
  return {
    get count() {
      return waiters.length
    },
    get countLong() {
      return waiters.filter(({ long }) => long).length
    },
    hasNext: (allowLong) => next(allowLong) !== undefined,
    serve(allowLong, lease) {
      const waiter = next(allowLong)
      const given = waiter && lease(waiter.long)
      if (waiter === undefined || given === undefined) return false
      leave(waiter)
      waiter.resolve(given)
      return true
    },
    wait: ({ signal, long = false }) =>
      new Promise((resolve, reject) => {
        const settle = (act: () => void): void => {
          clearTimeout(timer)
          signal?.removeEventListener('abort', abort)
          act()
        }
        const fail = (error: unknown): void => {
          leave(waiter)
          waiter.reject(error)
        }
        const abort = (): void => fail(signal?.reason)
        const timer = setTimeout(() => fail(PoolExhausted()), waitMs)
        const waiter: Waiter = {
          long,
          resolve: (lease) => settle(() => resolve(lease)),
          reject: (error) => settle(() => reject(error)),
        }
        signal?.addEventListener('abort', abort)
        waiters.push(waiter)
      }),
    rejectAll(error) {
      for (const waiter of waiters.splice(0)) waiter.reject(error)
    },
  }
}
