/** Decides when the writer lease may be taken. It has no I/O and no clock: a simulation drives the same code. */
import type { LeaseRow } from './lease-port.ts'
import type { Times } from './times.ts'

export interface TakerLook {
  readonly hasLock: boolean
  readonly row: LeaseRow | undefined
  /** When the look was sent and when its answer was here: milliseconds on one monotonic clock. */
  readonly sentAt: number
  readonly receivedAt: number
}

/**
 * `unlock`: the holder is alive and has lost its lock, which it has to get back. `evict`: the holder is frozen or cut
 * off and still has the lock.
 */
export type Decision = 'take' | 'wait' | 'unlock' | 'evict'

export interface Taker {
  decide(look: TakerLook): Decision
  /** A look has failed: the holder may have been unable to beat as well, so the watch begins anew. */
  restart(): void
}

export interface TakerOptions {
  readonly times: Pick<Times, 'grace' | 'lease' | 'poll'>
  /** Whether the process of this row is known to be gone. */
  readonly isGone: (row: LeaseRow) => boolean
}

export const createTaker = ({ times, isGone }: TakerOptions): Taker => {
  let seen:
    | { readonly epoch: number; readonly beat: number; readonly since: number; readonly locked: boolean }
    | undefined

  return {
    decide({ hasLock, row, sentAt, receivedAt }) {
      // Before the tables are there the lock alone decides.
      if (row === undefined || row.isReleased) {
        seen = undefined
        return hasLock ? 'take' : 'wait'
      }
      const { epoch, beat } = row
      if (seen?.epoch !== epoch || seen.beat !== beat) {
        const isAlive = seen?.locked === true && hasLock
        seen = { epoch, beat, since: receivedAt, locked: hasLock }
        if (isAlive) return 'unlock'
      } else seen = { ...seen, locked: hasLock }
      const unchanged = sentAt - seen.since
      if (hasLock) return unchanged >= times.grace || isGone(row) ? 'take' : 'wait'
      if (unchanged < times.lease) return 'wait'
      // Where the lock cannot be taken away, the fence alone decides.
      return unchanged < times.lease + times.poll ? 'evict' : 'take'
    },
    restart() {
      seen = undefined
    },
  }
}
