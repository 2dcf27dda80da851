/**
 * Notifies other servers that there are commits to read: at once, but at most every five milliseconds, and never twice at a
 * time. Where commits come faster, the last one is announced when the time is over, or with the first commit behind it, as
 * a busy process runs its timers late.
 */
import type { Clock } from '../../../kernel/index.ts'
import type { FeedPosition } from './change-feed.ts'

const PAUSE_MS = 5

export interface Announcer {
  announce(at: FeedPosition): void
}

/** A `send` that rejects is not retried: followers look regularly without it. */
export const createAnnouncer = (
  clock: Pick<Clock, 'deadline' | 'monotonic'>,
  send: (at: FeedPosition) => Promise<void>,
): Announcer => {
  let next: FeedPosition | undefined
  let isSending = false
  let isWaiting = false
  let sentAt = Number.NEGATIVE_INFINITY

  const run = async (at: FeedPosition): Promise<void> => {
    next = undefined
    isSending = true
    sentAt = clock.monotonic()
    await send(at).catch(() => undefined)
    isSending = false
    sendNext()
  }
  const wait = (ms: number): void => {
    isWaiting = true
    const onOver = (): void => {
      isWaiting = false
      sendNext()
    }
    clock.deadline(Math.ceil(ms)).addEventListener('abort', onOver, { once: true })
  }
  const sendNext = (): void => {
    if (next === undefined || isSending) return
    const left = sentAt + PAUSE_MS - clock.monotonic()
    if (left <= 0) void run(next)
    else if (!isWaiting) wait(left)
  }
  return {
    announce(at) {
      next = at
      sendNext()
    },
  }
}
