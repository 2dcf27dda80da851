/** Stores requests in batches, and removes those past their retention. A crash can lose those of one window. */
import { type Clock, every, type Logger, type Repeating, type Usage } from '../../kernel/index.ts'
import type { Database, SqlParam } from '../database/service.ts'
import { createRefusalThrottle, type RefusalCounts } from './refusal-throttle.ts'
import { insertRequest, pruneRequests } from './tables.ts'

export const FLUSH_MS = 1_000
export const PRUNE_MS = 60_000
const HOUR_MS = 3_600_000
const BATCH = 500 // rows of a transaction, so that other writes do not wait long
const MAX_WAITING = 50_000 // rows in memory while the database accepts none

export interface RecorderParts {
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
  readonly retentionHours: number
  readonly refusedPerSecond: number
}

type Row = readonly SqlParam[]

const rowOf = ({ request, status, bytesIn, bytesOut, duration }: Usage): Row => {
  const { startedAt, id, method, route = null, requestClass, caller, address } = request
  const { client = null, user = null } = caller
  const micros = Math.round(duration * 1000)
  return [
    ...[startedAt, id, method, route, requestClass, status, bytesIn, bytesOut, micros],
    // As in the log line, the address is stored only for a caller without a client.
    ...[client, user, client === null ? address : null, 1],
  ]
}

const summaryRow = ({ time, status, count, bytesIn, bytesOut }: RefusalCounts): Row => [
  ...[time, null, null, null, null, status, bytesIn, bytesOut, 0, null, null, null, count],
]

export const createRecorder = ({ database, clock, log, retentionHours, refusedPerSecond }: RecorderParts) => {
  const sampler = createRefusalThrottle(refusedPerSecond)
  let waiting: Row[] = []
  let dropped = 0

  const keep = (rows: readonly Row[]): Promise<void> =>
    database.transact(
      async (transaction) => {
        for (const row of rows) await transaction.run(insertRequest, row)
      },
      { shared: true },
    )
  const flush = async (): Promise<void> => {
    waiting.push(...sampler.take().map(summaryRow))
    while (waiting.length > 0) {
      const batch = waiting.slice(0, BATCH)
      await keep(batch)
      waiting = waiting.slice(batch.length)
    }
    if (dropped > 0) log.warn({ dropped }, 'requests were not stored: the database took too few')
    dropped = 0
  }
  const prune = (): Promise<void> =>
    database.transact(async (transaction) => {
      await transaction.run(pruneRequests, [clock.now() - retentionHours * HOUR_MS])
    })

  let flushing: Repeating | undefined
  let pruning: Repeating | undefined
  return {
    record(usage: Usage): void {
      // The server that sent it stores its row.
      if (usage.relayed === 'received' || !sampler.keeps(usage)) return
      if (waiting.length < MAX_WAITING) waiting.push(rowOf(usage))
      else dropped += 1
    },
    /** Resolves when everything recorded before is in the database. */
    async flush(): Promise<void> {
      await flushing?.now().catch(() => undefined)
      await flushing?.now()
    },
    async start(): Promise<void> {
      // The server that writes prunes for all.
      if (!database.isReader) await prune()
      const failed = (error: unknown): void =>
        log.warn({ err: error }, 'requests could not be stored; tried again soon')
      flushing = every(clock, FLUSH_MS, flush, failed)
      if (!database.isReader) pruning = every(clock, PRUNE_MS, prune, failed)
    },
    async stop(): Promise<void> {
      await Promise.all([flushing?.stop(), pruning?.stop()])
      await flush()
    },
  }
}
