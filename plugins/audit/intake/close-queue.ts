/** The end of the queue of events at a stop of the server. */
import { counted, type Logger } from '../../../kernel/index.ts'
import type { TrailEvent } from '../event.ts'
import type { EventQueue } from './queue.ts'

export interface QueueEnd {
  readonly queue: Pick<EventQueue, 'waiting' | 'recorded' | 'leave' | 'close'>
  /** Queues the counts of refusals without events. */
  readonly queueCounts: () => void
  readonly flush: () => Promise<void>
  /** Stores events that cannot be written into the trail. It is undefined where no other place takes them. */
  readonly elsewhere?: ((events: readonly TrailEvent[]) => Promise<void>) | undefined
  readonly log: Logger
}

/**
 * Stores what waits, and closes the queue. Resolves with true when it is in the trail, false when it is elsewhere. Logs the
 * number of events that are lost where that fails, too, and throws.
 */
export const closeQueue = async ({ queue, queueCounts, flush, elsewhere, log }: QueueEnd): Promise<boolean> => {
  const leave = async (error: unknown): Promise<false> => {
    if (elsewhere === undefined) throw error
    await queue.leave(elsewhere)
    return false
  }
  queueCounts()
  try {
    return await flush().then(() => true, leave)
  } catch (error) {
    const { waiting, recorded } = queue
    const of = recorded === waiting ? '' : `, which record ${recorded} requests,`
    log.error(
      { lost: waiting, recorded },
      `${counted(waiting, 'event')}${of} could not be written to the audit trail and will be lost`,
    )
    throw error
  } finally {
    queue.close()
  }
}

/** The same on a server that stops before it could write, with what it has refused until then. */
export const closeEarlyQueue = async (end: Omit<QueueEnd, 'flush'>): Promise<void> => {
  const flush = async (): Promise<void> => {
    if (end.queue.waiting > 0) throw new Error('the server stops before its database was open')
  }
  await closeQueue({ ...end, flush })
}
