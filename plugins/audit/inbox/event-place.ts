/** Where events of this server go: into the trail, or where another one writes, into its inbox. */
import type { Host } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import { createBlockWriter } from '../blocks/block-writer.ts'
import type { KeyRing } from '../chain/key.ts'
import type { TrailEvent } from '../event.ts'
import type { EventQueue } from '../intake/queue.ts'
import { createTrailMaintenance, type TrailMaintenance } from '../trail/maintenance.ts'
import { createTrail, type Trail } from '../trail/trail.ts'
import { createInboxMaintenance } from './inbox-maintenance.ts'
import { createInboxMover } from './inbox-mover.ts'
import { createInboxWriter } from './inbox-writer.ts'
import { createLeaveBeside } from './leave-beside.ts'

export interface EventPlaceParts extends Pick<Host, 'busy' | 'clock' | 'random' | 'log'> {
  readonly database: Database
  readonly keys: KeyRing
}

export interface Kept {
  readonly queue: EventQueue
  /** Writes the queued events. */
  readonly flush: () => Promise<void>
  /** Queues the counts of refusals without events. */
  readonly queueCounts: () => void
  readonly retentionDays: number | undefined
}

export interface EventPlace {
  readonly writer: Trail
  keptBy(kept: Kept): TrailMaintenance
  /** Resolves when the events that other servers have stored until now are in the trail, on the server that keeps it. */
  gather(): Promise<void>
}

export const createPlace = ({ database, keys, busy, clock, random, log }: EventPlaceParts): EventPlace => {
  const leaveBeside = createLeaveBeside({ database, keys, clock, random })
  if (database.isReader) {
    const inbox = createInboxWriter({ database, keys, server: random.id() })
    const onWait = (): void => busy('waiting for the catalog of the primary')
    return {
      writer: inbox,
      keptBy: (kept) => createInboxMaintenance({ ...kept, database, inbox, leaveBeside, onWait, clock, log }),
      gather: async () => undefined,
    }
  }
  const blocks = createBlockWriter({ database, clock, log })
  const trail = createTrail({ database, keys, blocks, clock, log })
  const isShared = database.kind === 'postgres'
  const inbox = isShared ? createInboxMover({ database, keys, trail, clock, log }) : undefined
  const leave = async (events: readonly TrailEvent[]): Promise<void> => {
    const writer = createInboxWriter({ database, keys, server: random.id() })
    await writer.open(undefined, () => undefined)
    await writer.write(events)
  }
  return {
    writer: trail,
    keptBy: (kept) =>
      createTrailMaintenance({
        ...kept,
        database,
        keys,
        trail,
        blocks,
        inbox,
        leave: isShared ? leave : undefined,
        leaveBeside: isShared ? leaveBeside : undefined,
        clock,
        log,
      }),
    gather: async () => inbox?.move(),
  }
}
