/** Notifies other servers that there are commits to read: at most once in ten milliseconds, and never twice at a time. */
import type { Clock } from '../../../kernel/index.ts'
import type { FeedPosition } from './change-feed.ts'

const PAUSE_MS = 10

export interface Announcer {
  announce(at: FeedPosition): void
}

/** A `send` that rejects is not retried: followers look regularly without it. */
export const createAnnouncer = (
  clock: Pick<Clock, 'deadline'>,
  send: (at: FeedPosition) => Promise<void>,
): Announcer => {
  let next: FeedPosition | undefined
  let isBusy = false
  const run = async (): Promise<void> => {
    const at = next as FeedPosition
    next = undefined
    const late = clock.deadline(PAUSE_MS)
    const pause = new Promise<void>((resolve) => late.addEventListener('abort', () => resolve(), { once: true }))
    await send(at).catch(() => undefined)
    await pause
    isBusy = false
    if (next !== undefined) start()
  }
  const start = (): void => {
    isBusy = true
    void run()
  }
  return {
    announce(at) {
      next = at
      if (!isBusy) start()
    },
  }
}
