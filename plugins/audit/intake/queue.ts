/**
 * Events that wait for nobody: those of reads and refusals. They are written together, at most WINDOW_MS after the
 * answer they tell of, in one transaction that does not wait for the disk; it is waited for once a second, because
 * waiting for it fifty times would slow down what they tell of. None is dropped: when the database takes none, the queue
 * fills, and then what would have to be recorded is refused.
 */
import type { Clock, Logger } from '../../../kernel/index.ts'
import { TrailBusy } from '../errors.ts'
import type { TrailEvent } from '../event.ts'
import type { Trail } from '../trail/trail.ts'

const WINDOW_MS = 20 // between an answer and its event in the database
const HARDEN_MS = 1_000 // between an event that is written and on disk
const BATCH = 512 // events written in one go, which takes a few milliseconds
const MAX_WAITING = 10_000 // events that wait; some megabytes
const RETRY_MS = 1_000 // after the database refused them

export interface EventQueue {
  /** From now on events are written; those that came before have waited. */
  open(): void
  /**
   * Behind the event of stop nothing is taken any more: the gap has its mark. That event waits for the disk, and what was
   * written before it is there with it.
   */
  close(): void
  /** Throws TrailBusy when no more can be kept. */
  push(event: TrailEvent): void
  /** Resolves when everything pushed before is written; rejects when it cannot be. */
  flush(): Promise<void>
  /** Events that are not written yet. */
  readonly waiting: number
}

export interface EventQueueParts {
  readonly trail: Pick<Trail, 'write' | 'flush'>
  readonly clock: Clock
  readonly log: Logger
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
  /** What waits now. What comes meanwhile waits for its own window: writing it at once would write it one by one. */
  const writeWaiting = async (): Promise<void> => {
    for (let left = waiting.length; left > 0; ) {
      const batch = waiting.slice(0, Math.min(left, BATCH))
      await trail.write(batch, { asynchronousCommit: true })
      hardenSoon()
      // Only now: what could not be written is written later.
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
        start().catch(() => undefined) // told to the log, and tried again
      },
      { once: true },
    )
  }
  const writeSoon = (): void => {
    if (waiting.length >= BATCH) start().catch(() => undefined)
    else if (waiting.length > 0) schedule(WINDOW_MS)
  }
  /** What holds on to the bodies of resources is asked at once when the queue does not get shorter. */
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
      if (waiting.length >= MAX_WAITING) throw TrailBusy().with({ headers: { 'retry-after': '1' } })
      waiting.push(waiting.length >= 2 * BATCH ? settled(event) : event)
      if (state !== 'early' && !isFailing && writing === undefined) writeSoon()
    },
    async flush() {
      // What is being written may have begun before the last event came, or before the database took any.
      await writing?.catch(() => undefined)
      if (waiting.length > 0) await start()
    },
    get waiting() {
      return waiting.length
    },
  }
}
