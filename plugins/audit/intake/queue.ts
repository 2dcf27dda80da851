/**
 * The queue of events that no transaction waits for: those of reads and refusals. They are written together, at most
 * WINDOW_MS after their answer, in a transaction that does not wait for the disk. The queue waits for the disk once a
 * second, because doing so fifty times a second would slow down requests. No event is dropped: when the database
 * accepts none, the queue fills up, and then requests that have to be recorded are refused, and refusals are counted.
 */
import type { Clock, Logger } from '../../../kernel/index.ts'
import { TrailBusy } from '../errors.ts'
import type { TrailEvent } from '../event.ts'
import type { Trail } from '../trail/trail.ts'

const WINDOW_MS = 20 // milliseconds between an answer and its event in the database
const HARDEN_MS = 1_000 // milliseconds between an event in the database and on disk
const BATCH = 512 // events of one transaction, which takes a few milliseconds
const MAX_WAITING = 10_000 // events that wait; some megabytes
const RETRY_MS = 1_000 // milliseconds until a retry after the database refused them

export interface EventQueue {
  /** Starts writing, first the events that were queued before. */
  open(): void
  /**
   * Accepts no events any more: the event of stop is the last one and marks the gap. It is written with a wait for the
   * disk, which makes earlier events durable too.
   */
  close(): void
  /** Queues an event. Throws TrailBusy when the queue is full. */
  push(event: TrailEvent): void
  /** Queues events that count others, one for each status, also when the queue is full. */
  pushCounts(events: readonly TrailEvent[]): void
  readonly isFull: boolean
  /** Resolves when everything pushed before is written; rejects when it cannot be. */
  flush(): Promise<void>
  /** Writes what waits through `write`, not into the trail. */
  leave(write: (events: readonly TrailEvent[]) => Promise<void>): Promise<void>
  /** Events that are not written yet. */
  readonly waiting: number
  /** The number of requests that these events record. An event of kind `sampled` records several. */
  readonly recorded: number
}

export interface EventQueueParts {
  readonly trail: Pick<Trail, 'write' | 'flush'>
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Evaluates the details of an event now, because they hold bodies of resources in memory while the queue is not
 * written.
 */
const settled = (event: TrailEvent): TrailEvent => {
  const patients = event.details?.patients?.()
  const query = event.details?.query?.()
  return {
    ...event,
    details: {
      ...(patients !== undefined && { patients: () => patients }),
      ...(query !== undefined && { query: () => query }),
    },
  }
}

export const createEventQueue = ({ trail, clock, log }: EventQueueParts): EventQueue => {
  let waiting: TrailEvent[] = []
  let writing: Promise<void> | undefined
  let isScheduled = false
  let state: 'early' | 'open' | 'closed' = 'early'
  let isFailing = false
  let isSoft = false

  const hardenSoon = (): void => {
    if (isSoft) return
    isSoft = true
    clock.deadline(HARDEN_MS).addEventListener(
      'abort',
      () => {
        isSoft = false
        if (state !== 'closed')
          trail.flush().catch((error) => log.error({ err: error }, 'the audit trail may not be on disk'))
      },
      { once: true },
    )
  }
  /**
   * Writes the events that are queued now. Later events wait for their own window: otherwise they would be written one
   * by one.
   */
  const writeWaiting = async (): Promise<void> => {
    for (let left = waiting.length; left > 0; ) {
      const batch = waiting.slice(0, Math.min(left, BATCH))
      await trail.write(batch, { asynchronousCommit: true })
      hardenSoon()
      // Removed only after they are written, so that a failed write is retried.
      waiting = waiting.slice(batch.length)
      left -= batch.length
    }
  }
  const start = (): Promise<void> => {
    writing ??= writeWaiting()
      .then(
        () => {
          isFailing = false
        },
        (error) => {
          if (!isFailing) log.error({ err: error, waiting: waiting.length }, 'the audit trail cannot be written')
          isFailing = true
          schedule(RETRY_MS)
          throw error
        },
      )
      .finally(() => {
        writing = undefined
        if (!isFailing) writeSoon()
      })
    return writing
  }
  const schedule = (ms: number): void => {
    if (isScheduled) return
    isScheduled = true
    clock.deadline(ms).addEventListener(
      'abort',
      () => {
        isScheduled = false
        start().catch(() => undefined) // logged, and retried
      },
      { once: true },
    )
  }
  const writeSoon = (): void => {
    if (waiting.length >= BATCH) start().catch(() => undefined)
    else if (waiting.length > 0) schedule(WINDOW_MS)
  }
  const writeUnlessHeld = (): void => {
    if (state !== 'early' && !isFailing && writing === undefined) writeSoon()
  }
  const isFull = (): boolean => waiting.length >= MAX_WAITING

  return {
    open() {
      state = 'open'
      writeSoon()
    },
    close() {
      state = 'closed'
    },
    push(event) {
      if (state === 'closed') return
      if (isFull()) throw TrailBusy().with({ headers: { 'retry-after': '1' } })
      waiting.push(waiting.length >= 2 * BATCH ? settled(event) : event)
      writeUnlessHeld()
    },
    pushCounts(events) {
      if (state === 'closed') return
      waiting.push(...events)
      writeUnlessHeld()
    },
    get isFull() {
      return isFull()
    },
    async flush() {
      // The write in progress may have begun before the last event was queued, or before the database accepted any.
      await writing?.catch(() => undefined)
      if (waiting.length > 0) await start()
    },
    async leave(write) {
      await writing?.catch(() => undefined)
      const left = waiting.slice() // more may be pushed meanwhile
      await write(left)
      waiting = waiting.slice(left.length)
    },
    get waiting() {
      return waiting.length
    },
    get recorded() {
      return waiting.reduce((sum, { kind, number = 1 }) => sum + (kind === 'sampled' ? number : 1), 0)
    },
  }
}
