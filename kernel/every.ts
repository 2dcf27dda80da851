/** Work that repeats, on the injected clock: the next time is counted from the end of the last, so it never overlaps itself. */
import type { Clock } from './clock.ts'

export interface Repeating {
  /** Does the work now, or joins the one that runs. Rejects with what it throws. */
  now(): Promise<void>
  /** No more repetitions; resolves when the one that runs is done. */
  stop(): Promise<void>
}

/** Every `ms` milliseconds from now on. What the work throws goes to `onError`, and the next time comes all the same. */
export const every = (
  clock: Clock,
  ms: number,
  work: () => Promise<void>,
  onError: (error: unknown) => void,
): Repeating => {
  let running: Promise<void> | undefined
  let stopped = false

  const now = (): Promise<void> => {
    running ??= work().finally(() => {
      running = undefined
    })
    return running
  }
  const wait = (): void => {
    if (stopped) return
    clock.deadline(ms).addEventListener('abort', () => {
      if (!stopped) now().catch(onError).finally(wait)
    })
  }
  wait()
  return {
    now,
    async stop() {
      stopped = true
      await running?.catch(() => undefined)
    },
  }
}
