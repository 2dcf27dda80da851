/** Time and random ids are passed as arguments, so that a test of a 30 s timeout does not wait 30 s. */
import { randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Milliseconds on a clock that never goes back. */
  monotonic(): number
  /** A signal that aborts after so many milliseconds. */
  deadline(ms: number): AbortSignal
}

export interface Random {
  /** A fresh UUID. */
  id(): string
}

const OVER = new DOMException('The time is over', 'TimeoutError')

/**
 * Like AbortSignal.timeout, but with one shared error: a stack trace for each signal would cost more than all the rest.
 */
const deadline = (ms: number): AbortSignal => {
  const controller = new AbortController()
  setTimeout(() => controller.abort(OVER), ms).unref()
  return controller.signal
}

export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  monotonic: () => performance.now(),
  deadline,
})
export const systemRandom: Random = Object.freeze({ id: () => randomUUID() })
