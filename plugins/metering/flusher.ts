/** Moves counts into the database in batches. What a crash can lose is one window; a flush that fails loses nothing. */
import { type Clock, every, type Logger, type Repeating } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import type { Counters, Counts } from './counters.ts'
import { addUsage } from './tables.ts'

export const FLUSH_MS = 5_000 // the window: what a killed process may lose

export interface KeeperParts {
  readonly database: Database
  readonly counters: Counters
  readonly clock: Clock
  readonly log: Logger
}

export const createFlusher = ({ database, counters, clock, log }: KeeperParts) => {
  const keep = (counts: Counts): Promise<void> =>
    database.transact(async (transaction) => {
      for (const [day, clients] of counts)
        for (const [client, classes] of clients)
          for (const [requestClass, { requests, bytesIn, bytesOut }] of Object.entries(classes))
            await transaction.run(addUsage, [client, day, requestClass, requests, bytesIn, bytesOut])
    })
  const flush = async (): Promise<void> => {
    const counts = counters.take()
    if (counts.size === 0) return
    try {
      await keep(counts)
    } catch (error) {
      counters.giveBack(counts)
      throw error
    }
  }
  let repeating: Repeating | undefined
  return {
    async start(): Promise<void> {
      repeating = every(clock, FLUSH_MS, flush, (error) =>
        log.warn({ err: error }, 'usage could not be kept; it is counted on and tried again'),
      )
    },
    /** Resolves when all that was counted before is kept. */
    async flush(): Promise<void> {
      // One that runs may have begun before.
      await repeating?.now().catch(() => undefined)
      await repeating?.now()
    },
    async stop(): Promise<void> {
      await repeating?.stop()
      await flush()
    },
  }
}
