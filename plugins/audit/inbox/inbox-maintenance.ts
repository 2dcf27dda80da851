/** Records the start and stop of a server that only reads; other events go through its inbox writer. */
import { type Clock, every, type Logger, type Repeating } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import type { TrailEvent } from '../event.ts'
import { closeEarlyQueue, closeQueue } from '../intake/close-queue.ts'
import type { EventQueue } from '../intake/queue.ts'
import { type HeadRow, readHead } from '../tables.ts'
import type { TrailMaintenance } from '../trail/maintenance.ts'
import type { InboxWriter } from './inbox-writer.ts'

const HOUR_MS = 3_600_000

export interface InboxMaintenanceParts {
  readonly database: Database
  readonly inbox: InboxWriter
  readonly queue: Pick<EventQueue, 'open' | 'close' | 'leave' | 'waiting' | 'recorded'>
  /** Writes the queued events. */
  readonly flush: () => Promise<void>
  /** Queues the counts of refusals without events. */
  readonly queueCounts: () => void
  /** Leaves events in the inbox before the database is open. */
  readonly leaveBeside: (events: readonly TrailEvent[]) => Promise<void>
  readonly onWait: () => void
  readonly clock: Clock
  readonly log: Logger
}

export const createInboxMaintenance = (parts: InboxMaintenanceParts): TrailMaintenance => {
  const { database, inbox, queue, flush, queueCounts, onWait, clock, log } = parts
  let hourly: Repeating | undefined
  let isOpen = false
  const onError = (error: unknown): void => log.warn({ err: error }, 'the inbox of the audit trail cannot be written')
  return {
    async start(signal) {
      await inbox.open(signal, onWait)
      await inbox.write([{ at: clock.now(), kind: 'start', status: 200 }])
      queue.open()
      isOpen = true
      hourly = every(clock, HOUR_MS, () => inbox.touch(clock.now()), onError)
    },
    async stop() {
      if (!isOpen) return closeEarlyQueue({ queue, queueCounts, elsewhere: parts.leaveBeside, log })
      await hourly?.stop()
      await closeQueue({ queue, queueCounts, flush, log })
      await inbox.write([{ at: clock.now(), kind: 'stop', status: 200 }])
    },
    async chain() {
      const head = await database.get<HeadRow>(readHead, [])
      return Buffer.from(head?.chain ?? []).toString('hex')
    },
  }
}
