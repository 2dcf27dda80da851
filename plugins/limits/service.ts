/** What the limits offer to plugins that look tokens up, or hold connections open. Absent while nothing is limited. */
import { defineService, type RequestContext, type ServerError } from '../../kernel/index.ts'

/** Spec: [rate_limit] auth_failures_per_minute. */
export interface AuthFailureLimit {
  /**
   * Asked before an unknown token is looked up. Gives the refusal to throw; otherwise the look-up counts as failed from
   * now on, so that many at once are not all let through.
   */
  begin(request: RequestContext): ServerError | undefined
  /** The token looked up was a good one: it does not count. */
  succeeded(request: RequestContext): void
}

/** A connection to /sync that counts. */
export interface SyncConnection {
  /** Throws 429 when the connection has all the live queries it may. Call what it gives when the query ends. */
  openQuery(): () => void
  /** To be called once, however the connection ends. */
  close(): void
}

/** Spec: [rate_limit] max_sync_connections, max_live_queries. */
export interface SyncLimit {
  /** Throws 429 when the caller has all the connections it may. */
  connect(request: RequestContext): SyncConnection
}

export interface Limits {
  readonly authFailures: AuthFailureLimit
  readonly sync: SyncLimit
}

/** Provided while [rate_limit] or [quota] is on; without the first it refuses nothing. */
export const Limits = defineService<Limits>('limits')
