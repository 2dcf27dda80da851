/**
 * Completes columns beside the running server: one small transaction after the other, each behind the writes that wait.
 * On PostgreSQL it also looks now and then whether another server has posted a parameter or completed one.
 */
import type { Clock, Logger } from '../../../../kernel/index.ts'
import type { ColumnRow } from '../columns.ts'
import type { Registry } from '../registry.ts'
import { DIRTY } from '../tables.ts'
import type { Backfill } from './backfill.ts'

/** Another server's change is noticed within this; a search that asks for what is not known here looks at once. */
export const LOOK_MS = 5_000
/** A column nobody uses is removed after the other servers must have noticed. */
const GRACE_MS = 60_000
const RETRY_MS = 5_000 // after a failure: the database may be away

export interface BackfillWorkerParts {
  readonly registry: Registry
  readonly backfill: Backfill
  readonly clock: Clock
  readonly log: Logger
  /** There may be other servers on this database. */
  readonly shared: boolean
}

export interface BackfillWorker {
  /** Columns of packages only, before the server is ready. Stops between transactions when `signal` aborts. */
  complete(signal: AbortSignal): Promise<void>
  /** From here on everything else, in the background. */
  start(): void
  /** There is something new to do. */
  wake(): void
  /** Resolves when the transaction under way is done. */
  stop(): Promise<void>
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export const createBackfillWorker = ({
  registry,
  backfill,
  clock,
  log,
  shared,
}: BackfillWorkerParts): BackfillWorker => {
  const stopping = new AbortController()
  const { signal } = stopping
  let started = false
  let running: Promise<void> | undefined
  let watching: Promise<void> | undefined
  let kicked = false
  let patient = false
  // When this process saw first that a column is gone.
  const goneSince = new Map<number, number>()

  const wait = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const late = clock.deadline(Math.ceil(ms))
      if (late.aborted || signal.aborted) return resolve()
      late.addEventListener('abort', () => resolve(), { once: true })
      signal.addEventListener('abort', () => resolve(), { once: true })
    })

  const tell = (type: string, completed: readonly ColumnRow[]): void => {
    const [first] = completed
    if (first !== undefined && first.indexed > 0)
      log.info(
        { type, columns: completed.length, resources: first.indexed, expected: first.expected },
        'search index completed',
      )
  }
  /** What is to be cleared comes first: a resource brings rows of the types it contains. */
  const next = (wanted: (row: ColumnRow) => boolean): ColumnRow | undefined => {
    const pending = registry.pending.filter(wanted)
    return pending.find(({ reach }) => reach === DIRTY) ?? pending[0]
  }
  const fillType = async (type: string, until: AbortSignal): Promise<void> => {
    for (;;) {
      if (until.aborted) return
      const { left, completed, cleaned } = await backfill.step(type)
      tell(type, completed)
      if (!left || cleaned) return
      // Whoever waits for the main thread comes first.
      await turn()
    }
  }
  /** Columns that have waited long enough; and how long the next one has to. */
  const dueGone = (): { readonly due: ColumnRow[]; readonly later: number | undefined } => {
    const now = clock.monotonic()
    const due: ColumnRow[] = []
    let later: number | undefined
    for (const column of registry.gone) {
      const since = goneSince.get(column.code) ?? now
      goneSince.set(column.code, since)
      const left = shared ? since + GRACE_MS - now : 0
      if (left <= 0) due.push(column)
      else later = Math.min(later ?? left, left)
    }
    return { due, later }
  }

  const hasWork = (): boolean => registry.pending.length + registry.gone.length > 0

  const work = async (): Promise<void> => {
    await backfill.completeEmpty(() => true)
    for (;;) {
      if (signal.aborted) return
      const pending = next(() => true)
      if (pending === undefined) break
      await fillType(pending.type, signal)
    }
    const { due, later } = dueGone()
    for (const column of due) {
      while (!signal.aborted && (await backfill.remove(column))) await turn()
      goneSince.delete(column.code)
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
    if (!started || signal.aborted) return
    running ??= run().finally(() => {
      running = undefined
      if (kicked) wake()
    })
  }
  const watch = async (): Promise<void> => {
    for (;;) {
      await wait(LOOK_MS)
      if (signal.aborted) return
      try {
        await registry.refresh()
        if (hasWork()) wake()
      } catch (error) {
        log.debug({ err: error }, 'could not look for new search parameters')
      }
    }
  }

  return {
    async complete(until) {
      await backfill.completeEmpty(({ code }) => registry.isPackaged(code))
      for (;;) {
        const pending = next(({ code }) => registry.isPackaged(code))
        if (pending === undefined || until.aborted) return
        await fillType(pending.type, until)
      }
    },
    start() {
      started = true
      if (shared) watching = watch()
      if (hasWork()) wake()
    },
    wake,
    async stop() {
      stopping.abort()
      await Promise.all([running, watching])
    },
  }
}
