/** What a pool lends, and what a borrower may ask for. */
import type { Session } from './session.ts'

/** A session on loan. Give it back exactly once. */
export interface Lease {
  readonly session: Session
  /** Back to the pool; a session that is broken or still in a transaction is closed instead. */
  release(): void
  /** Cuts the connection: whatever runs there fails, and the server ends it. */
  destroy(): void
}

export interface AcquireOptions {
  readonly signal?: AbortSignal | undefined
  /**
   * For a transaction or a slow query: one session is never lent for these, so that a small read inside a transaction,
   * on a session of its own, cannot wait for sessions that all wait for it.
   */
  readonly long?: boolean
}
