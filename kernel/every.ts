/** Work that repeats, on the injected clock. The interval starts when the last run has ended, so runs never overlap. */
import type { Clock } from './clock.ts'

export interface Repeating {
  /** Runs the work now, or waits for the run in progress. Rejects with its error. */
  now(): Promise<void>
  /** Ends the repetition; resolves when the run in progress is done. */
  stop(): Promise<void>
}

/**
 * Runs `work` every `ms` milliseconds, the first time after `ms`. An error goes to `onError`, and the repetition
 * continues.
 */
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
