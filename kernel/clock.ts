/** Time and chance are arguments, so that a test of thirty seconds takes none. */
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

export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  monotonic: () => performance.now(),
  deadline: (ms: number) => AbortSignal.timeout(ms),
})
export const systemRandom: Random = Object.freeze({ id: () => randomUUID() })
