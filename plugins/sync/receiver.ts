/** A live query that changes are delivered to, as the hub sees it. */
import type { ResourceDelta } from './judged-change.ts'
import type { Place } from './place.ts'

export type ResetReason = 'gap' | 'slow' | 'access' | 'meaning'

export interface Receiver {
  /** `at`: right behind the change. */
  deliver(delta: ResourceDelta, at: Place, wasIn: boolean, isIn: boolean): void
  reset(reason: ResetReason): void
}
