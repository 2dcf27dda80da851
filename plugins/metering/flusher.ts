/** Writes counts to the database in batches. A crash can lose those of one window; a failed write loses none. */
import { type Clock, every, type Logger, type Repeating } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import type { Counters, Counts } from './counters.ts'
import { addUsage } from './tables.ts'

export const FLUSH_MS = 5_000 // milliseconds; the window that a crash can lose

export interface FlusherParts {
  readonly database: Database
  readonly counters: Counters
  readonly clock: Clock
  readonly log: Logger
}

// Every server adds what it has counted itself.
const SHARED = Object.freeze({ shared: true })

export const createFlusher = ({ database, counters, clock, log }: FlusherParts) => {
  const keep = (counts: Counts): Promise<void> =>
    database.transact(async (transaction) => {
      for (const [day, clients] of counts)
        for (const [client, classes] of clients)
          for (const [requestClass, { requests, bytesIn, bytesOut }] of Object.entries(classes))
            await transaction.run(addUsage, [client, day, requestClass, requests, bytesIn, bytesOut])
    }, SHARED)
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
    /** Resolves when everything counted before is in the database. */
    async flush(): Promise<void> {
      // A run in progress may have begun earlier.
      await repeating?.now().catch(() => undefined)
      await repeating?.now()
    },
    async stop(): Promise<void> {
      await repeating?.stop()
      await flush()
    },
  }
}
