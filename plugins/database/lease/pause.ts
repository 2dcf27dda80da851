/** A wait that ends early when somebody wakes it, or when a start is given up. */
import type { Clock } from '../../../kernel/index.ts'

/** Resolves after so many milliseconds, or when `woken` does; a `woken` that rejects is ignored. Rejects when `signal` aborts. */
export const pause = (
  clock: Clock,
  ms: number,
  signal: AbortSignal | undefined,
  woken?: Promise<void> | undefined,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const over = clock.deadline(ms)
    const forget = (): void => {
      over.removeEventListener('abort', end)
      signal?.removeEventListener('abort', abort)
    }
    const end = (): void => {
      forget()
      resolve()
    }
    const abort = (): void => {
      forget()
      reject(signal?.reason)
    }
    over.addEventListener('abort', end, { once: true })
    signal?.addEventListener('abort', abort, { once: true })
    if (signal?.aborted) abort()
    woken?.then(end, () => undefined)
  })
