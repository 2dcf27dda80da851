/** The end of the queue of events at a stop of the server. */
import { counted, type Logger } from '../../../kernel/index.ts'
import type { EventQueue } from './queue.ts'

/** Stores what waits, and closes the queue. Logs the number of events that are lost where that fails, and throws. */
export const closeQueue = async (
  queue: Pick<EventQueue, 'waiting' | 'close'>,
  flush: () => Promise<void>,
  log: Logger,
): Promise<void> => {
  try {
    await flush()
  } catch (error) {
    const { waiting } = queue
    log.error(
      { lost: waiting },
      `${counted(waiting, 'event')} could not be written to the audit trail and will be lost`,
    )
    throw error
  } finally {
    queue.close()
  }
}
