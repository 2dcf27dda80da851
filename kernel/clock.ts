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

const OVER = new DOMException('The time is over', 'TimeoutError')

/** As AbortSignal.timeout, without an error of its own for each, whose stack costs more than all the rest. */
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
