/** Limits for plugins that look up tokens, or hold connections open. Not provided while no limit is configured. */
import { defineService, type RequestContext, type ServerError } from '../../kernel/index.ts'

/** Spec: [rate_limit] auth_failures_per_minute. */
export interface AuthFailureLimit {
  /**
   * Call it before a token is looked up. Returns the refusal to throw; otherwise counts the look-up as failed until
   * `succeeded` is called, so that many concurrent look-ups do not all pass.
   */
  begin(request: RequestContext): ServerError | undefined
  /** The token was valid: the look-up is not counted any more. */
  succeeded(request: RequestContext): void
}

/** A counted connection to /sync. */
export interface SyncConnection {
  /** Throws 429 when the connection has its maximum of live queries. */
  openQuery(): void
  /** Call it once when a query ends that `openQuery` has counted. */
  closeQuery(): void
  /** Call it once, however the connection ends. */
  close(): void
}

/** Spec: [rate_limit] max_sync_connections, max_live_queries. */
export interface SyncLimit {
  /** Throws 429 when the caller has its maximum of connections. */
  connect(request: RequestContext): SyncConnection
}

export interface Limits {
  readonly authFailures: AuthFailureLimit
  readonly sync: SyncLimit
}

/** Provided while [rate_limit] or [quota] is enabled; without [rate_limit] it refuses nothing. */
export const Limits = defineService<Limits>('limits')
