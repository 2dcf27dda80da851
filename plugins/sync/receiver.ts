/** The interface through which the hub delivers changes to a live query. */
import type { ResourceDelta } from './judged-change.ts'
import type { Place } from './place.ts'

export type ResetReason = 'gap' | 'slow' | 'access' | 'meaning'

export interface Receiver {
  /** `at`: the position after the change. `wasIn`, `isIn`: whether the resource matched the query before and after it. */
  deliver(delta: ResourceDelta, at: Place, wasIn: boolean, isIn: boolean): void
  reset(reason: ResetReason): void
}
