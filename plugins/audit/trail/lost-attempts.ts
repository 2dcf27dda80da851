/**
 * Attempts to write events whose outcome is not known: the connection was lost before the answer to COMMIT. The events are
 * written again, but for those that are in the trail already.
 */
import type { Transaction } from '../../database/service.ts'
import type { TrailEvent } from '../event.ts'
import { findEvent } from '../tables.ts'

/** The last row that an attempt has inserted. All rows of an attempt are committed, or none. */
export interface Attempt {
  readonly seq: number
  readonly mac: Uint8Array
}

export interface LostAttempts {
  /** The attempt may have been committed. */
  add(events: readonly TrailEvent[], attempt: Attempt): void
  /** The events are in the trail. */
  forget(events: readonly TrailEvent[]): void
  /**
   * The events that are not in the trail yet. To be called with the head locked, which the lost transaction has held: so
   * it has ended.
   */
  missing(transaction: Transaction, events: readonly TrailEvent[]): Promise<readonly TrailEvent[]>
  /** True where nothing was lost, which is nearly always. */
  readonly isEmpty: boolean
}

export const createLostAttempts = (): LostAttempts => {
  const byEvent = new Map<TrailEvent, readonly Attempt[]>()
  return {
    add(events, attempt) {
      for (const event of events) byEvent.set(event, [...(byEvent.get(event) ?? []), attempt])
    },
    forget(events) {
      if (byEvent.size > 0) for (const event of events) byEvent.delete(event)
    },
    async missing(transaction, events) {
      const attempts = new Set(events.flatMap((event) => byEvent.get(event) ?? []))
      const committed = new Set<Attempt>()
      for (const attempt of attempts)
        if ((await transaction.get(findEvent, [attempt.seq, attempt.mac])) !== undefined) committed.add(attempt)
      return events.filter((event) => byEvent.get(event)?.some((attempt) => committed.has(attempt)) !== true)
    },
    get isEmpty() {
      return byEvent.size === 0
    },
  }
}
