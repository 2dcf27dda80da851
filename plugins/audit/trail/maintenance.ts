/**
 * Maintains the audit trail while the server runs: opens it, records start and stop, logs checkpoints, and prunes. The
 * log is to be kept elsewhere: its checkpoints show that the end of the trail was cut off or that an old copy was
 * restored.
 */
import { type Clock, every, type Logger, type Repeating } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import type { BlockWriter } from '../blocks/block-writer.ts'
import type { KeyRing } from '../chain/key.ts'
import type { TrailEvent } from '../event.ts'
import type { InboxMover } from '../inbox/inbox-mover.ts'
import { closeEarlyQueue, closeQueue } from '../intake/close-queue.ts'
import type { EventQueue } from '../intake/queue.ts'
import { type HeadRow, readHead } from '../tables.ts'
import { openTrail } from './open.ts'
import { pruneTrail } from './prune.ts'
import type { Trail } from './trail.ts'

const HOUR_MS = 3_600_000

export interface TrailMaintenance {
  start(signal?: AbortSignal): Promise<void>
  stop(): Promise<void>
  /** Id of the audit trail, hexadecimal. */
  chain(): Promise<string>
}

export interface TrailMaintenanceParts {
  readonly database: Database
  readonly keys: KeyRing
  readonly trail: Trail
  readonly blocks: BlockWriter
  readonly queue: Pick<EventQueue, 'open' | 'close' | 'leave' | 'waiting' | 'recorded'>
  /** Writes the queued events. */
  readonly flush: () => Promise<void>
  /** Queues the counts of refusals without events. */
  readonly queueCounts: () => void
  /** Where other servers may leave events. */
  readonly inbox: InboxMover | undefined
  /** Leaves events there for the server that writes, where this one has lost the writer lease. */
  readonly leave: ((events: readonly TrailEvent[]) => Promise<void>) | undefined
  /** Leaves them there before the database is open. */
  readonly leaveBeside: ((events: readonly TrailEvent[]) => Promise<void>) | undefined
  readonly retentionDays: number | undefined
  readonly clock: Clock
  readonly log: Logger
}

export const createTrailMaintenance = (parts: TrailMaintenanceParts): TrailMaintenance => {
  const { database, keys, trail, blocks, queue, flush, queueCounts, inbox, leave, clock, log } = parts
  const { retentionDays: days } = parts
  let hourly: Repeating | undefined
  let isOpen = false
  let pruning: Promise<void> = Promise.resolve()

  const checkpoint = async (): Promise<void> => {
    const head = await database.get<HeadRow>(readHead, [])
    if (head === undefined) return
    const mac = Buffer.from(head.mac).toString('hex')
    log.info({ seq: head.seq, mac, time: new Date(clock.now()).toISOString() }, 'audit checkpoint')
  }
  const pruneOld = async (): Promise<void> => {
    if (days !== undefined) await pruneTrail({ database, keys, trail, days, clock, log })
  }
  const eachHour = async (): Promise<void> => {
    await checkpoint()
    await pruneOld()
    await blocks.writeMissing()
    await inbox?.forget()
  }
  const onError = (error: unknown): void => log.error({ err: error }, 'the audit trail is not looked after')

  return {
    async start() {
      if (!keys.current.isSecret)
        log.warn('SERVER_AUDIT_KEY is not set: the audit trail shows mistakes only, no tampering')
      await openTrail({ database, keys, clock, log })
      await trail.write([{ at: clock.now(), kind: 'start', status: 200 }])
      queue.open()
      isOpen = true
      inbox?.start()
      await checkpoint()
      // The start does not wait for pruning, which may take long after a long downtime.
      pruning = pruneOld().catch(onError)
      void blocks.writeMissing()
      hourly = every(clock, HOUR_MS, eachHour, onError)
    },
    async stop() {
      // A start that failed, or still waits for the writer lease, has recorded nothing, but may have refused requests.
      if (!isOpen) return closeEarlyQueue({ queue, queueCounts, elsewhere: parts.leaveBeside, log })
      await Promise.all([hourly?.stop(), inbox?.stop()])
      await Promise.all([pruning, blocks.stop()])
      const stop: TrailEvent = { at: clock.now(), kind: 'stop', status: 200 }
      const elsewhere = leave && ((events: readonly TrailEvent[]) => leave([...events, stop]))
      if (!(await closeQueue({ queue, queueCounts, flush, elsewhere, log }))) return
      await trail.write([stop])
      await checkpoint()
    },
    async chain() {
      const head = await database.get<HeadRow>(readHead, [])
      return Buffer.from(head?.chain ?? []).toString('hex')
    },
  }
}
