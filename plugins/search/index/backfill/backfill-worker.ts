/**
 * Runs backfills while the server answers requests: one small transaction after the other, with other work of the
 * main thread in between. On PostgreSQL it also checks regularly, and when the feed publishes it, whether another server
 * has added SearchParameters, completed a column, or indexes other words.
 */
import type { Clock, Logger } from '../../../../kernel/index.ts'
import { createFreshRuns, whenStored } from '../../../database/service.ts'
import type { ColumnRow } from '../columns.ts'
import type { FullTextIndex } from '../full-text/text-index.ts'
import type { Registry } from '../registry.ts'
import { DIRTY } from '../tables.ts'
import type { Backfill } from './backfill.ts'
import { turn } from './turn.ts'
import { createUnusedColumns } from './unused-columns.ts'

/** Interval of that check. A search with a parameter that this server does not know checks at once. */
export const LOOK_MS = 5_000
const RETRY_MS = 5_000 // wait after a failure: the database may be unreachable

export interface BackfillWorkerParts {
  readonly registry: Registry
  readonly backfill: Backfill
  readonly words: Pick<FullTextIndex, 'look'>
  readonly clock: Clock
  readonly log: Logger
  /** True where other servers may use the same database. */
  readonly shared: boolean
  /** False on a server that only reads: another one fills the columns. */
  readonly fills: boolean
}

export interface BackfillWorker {
  /**
   * Completes the columns of packages, before the server accepts requests. Stops between two transactions when
   * `signal` aborts.
   */
  complete(signal: AbortSignal): Promise<void>
  /** Starts the work on all other columns, in the background. */
  start(): void
  /** Reports that there may be new work. */
  wake(): void
  /** Checks in the background whether another server has changed something; does nothing where none can. */
  lookSoon(): void
  /** Stops the worker. Resolves when the open transaction has ended. */
  stop(): Promise<void>
}

const logCompleted = (log: Logger, type: string, completed: readonly ColumnRow[]): void => {
  const [first] = completed
  if (first !== undefined && first.indexed > 0)
    log.info(
      { type, columns: completed.length, resources: first.indexed, expected: first.expected },
      'search index completed',
    )
}

/** Columns with old rows are cleared first: filling a type also adds rows of the types that its resources contain. */
const next = (registry: Registry, wanted: (row: ColumnRow) => boolean): ColumnRow | undefined => {
  const pending = registry.pending.filter(wanted)
  return pending.find(({ reach }) => reach === DIRTY) ?? pending[0]
}

/** Fills the columns of a type until they are complete or `until` aborts. */
const fillType = async (backfill: Backfill, log: Logger, type: string, until: AbortSignal): Promise<void> => {
  for (;;) {
    if (until.aborted) return
    const { left, completed, cleaned } = await backfill.step(type)
    logCompleted(log, type, completed)
    if (!left || cleaned) return
    await turn()
  }
}

export const createBackfillWorker = ({
  registry,
  backfill,
  words,
  clock,
  log,
  shared,
  fills,
}: BackfillWorkerParts): BackfillWorker => {
  const stopping = new AbortController()
  const { signal } = stopping
  const unused = createUnusedColumns(clock, shared)
  let started = false
  let running: Promise<void> | undefined
  let watching: Promise<void> | undefined
  let kicked = false
  let patient = false

  const wait = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const late = clock.deadline(Math.ceil(ms))
      if (late.aborted || signal.aborted) return resolve()
      late.addEventListener('abort', () => resolve(), { once: true })
      signal.addEventListener('abort', () => resolve(), { once: true })
    })

  const hasWork = (): boolean => registry.pending.length + registry.gone.length > 0

  const work = async (): Promise<void> => {
    await backfill.completeEmpty(() => true)
    for (;;) {
      if (signal.aborted) return
      const pending = next(registry, () => true)
      if (pending === undefined) break
      await fillType(backfill, log, pending.type, signal)
    }
    const { due, later } = unused.due(registry.gone)
    for (const column of due) {
      while (!signal.aborted && (await backfill.remove(column))) await turn()
      unused.removed(column)
    }
    if (later !== undefined && !patient) {
      patient = true
      void wait(later).then(() => {
        patient = false
        wake()
      })
    }
  }
  const run = async (): Promise<void> => {
    while (kicked && !signal.aborted) {
      kicked = false
      try {
        await work()
      } catch (error) {
        if (signal.aborted) return
        log.warn({ err: error }, 'the search index could not be completed; trying again')
        await wait(RETRY_MS)
        kicked = true
      }
    }
  }
  const wake = (): void => {
    kicked = true
    if (!started || !fills || signal.aborted) return
    running ??= run().finally(() => {
      running = undefined
      if (kicked) wake()
    })
  }
  const look = async (): Promise<void> => {
    try {
      await Promise.all([registry.refresh(), words.look()])
      if (hasWork()) wake()
    } catch (error) {
      log.debug({ err: error }, 'could not look for new search parameters')
    }
  }
  const watch = async (): Promise<void> => {
    for (;;) {
      await wait(LOOK_MS)
      if (signal.aborted) return
      await look()
    }
  }
  /** Checks that the feed has caused, one after the other. */
  const looks = createFreshRuns(look)

  return {
    async complete(until) {
      if (!fills) {
        const isComplete = async (): Promise<true | undefined> => {
          await registry.refresh()
          return registry.pending.some(({ code }) => registry.isPackaged(code)) ? undefined : true
        }
        await whenStored(until, isComplete)
        return
      }
      await backfill.completeEmpty(({ code }) => registry.isPackaged(code))
      for (;;) {
        const pending = next(registry, ({ code }) => registry.isPackaged(code))
        if (pending === undefined || until.aborted) return
        await fillType(backfill, log, pending.type, until)
      }
    },
    start() {
      started = true
      if (shared) watching = watch()
      if (hasWork()) wake()
    },
    wake,
    lookSoon() {
      if (shared) looks.soon()
    },
    async stop() {
      stopping.abort()
      await Promise.all([running, watching, looks.stop()])
    },
  }
}
