/** A live query that changes are delivered to, and what such queries share. */
import type { Matcher } from '../fhir/service.ts'
import type { Processed } from './change-queue.ts'
import type { ResourceDelta } from './judged-change.ts'

export type ResetReason = 'gap' | 'slow' | 'access' | 'meaning'

/** A live query of one connection, as the hub sees it. */
export interface Receiver {
  deliver(delta: ResourceDelta, at: Processed, wasIn: boolean, isIn: boolean): void
  reset(reason: ResetReason): void
}

/** A compiled query and all who share it. */
export interface Shared {
  readonly matcher: Matcher
  readonly receivers: Set<Receiver>
}
