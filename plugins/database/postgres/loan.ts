/** A lease of a session from the pool, and its options. */
import type { Session } from './session.ts'

/** A leased session. Release or destroy it exactly once. */
export interface Lease {
  readonly session: Session
  /** Returns it to the pool; a session that is broken or still in a transaction is closed instead. */
  release(): void
  /** Cuts the connection: statements under way fail, and the server ends the session. */
  destroy(): void
}

export interface AcquireOptions {
  readonly signal?: AbortSignal | undefined
  /**
   * For a transaction or a long query. One session is never leased for these, so that a small read inside a
   * transaction, on a session of its own, cannot wait for sessions that all wait for it.
   */
  readonly long?: boolean
}
