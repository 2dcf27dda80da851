/** One event of the audit trail: names and numbers, and no content of resources. */
import type { FactDetails, InteractionKind } from '../../kernel/index.ts'

/** The interactions, and events of the audit trail itself. */
export type EventKind = InteractionKind | 'start' | 'stop' | 'sampled' | 'prune' | 'rekey' | 'alarm'

/** The index of a kind is what is stored: append new kinds, never change the order. */
export const KINDS: readonly EventKind[] = [
  'read',
  'vread',
  'update',
  'patch',
  'delete',
  'history-instance',
  'history-type',
  'history-system',
  'create',
  'search-type',
  'search-system',
  'capabilities',
  'transaction',
  'batch',
  'operation',
  'admin',
  'auth',
  'start',
  'stop',
  'sampled',
  'prune',
  'rekey',
  'alarm',
  'request',
  'restore',
]

const CODES: ReadonlyMap<EventKind, number> = new Map(KINDS.map((kind, code) => [kind, code]))

export const eventCode = (kind: EventKind): number => CODES.get(kind) as number

export interface TrailEvent {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly kind: EventKind
  /** HTTP status; 200 or 500 for an event without a request. */
  readonly status: number
  readonly type?: string | undefined
  readonly id?: string | undefined
  readonly version?: number | undefined
  /**
   * Functions called when the event is written: which patients it is about, for each of which there is an entry, and
   * the search parameters.
   */
  readonly details?: FactDetails | undefined
  readonly client?: string | undefined
  readonly user?: string | undefined
  readonly tokenId?: string | undefined
  readonly address?: string | undefined
  /** X-Request-Id */
  readonly request?: string | undefined
  /** Name of an operation, path of an admin endpoint, method of a `request`. */
  readonly operation?: string | undefined
  /**
   * For a read, the number of resources shown; for `sampled`, the number of events it stands for; for `prune`, the
   * number of the last pruned event; 1 for a refusal about a resource that exists and is hidden from the caller.
   */
  readonly number?: number | undefined
  /** Proof of a new key. */
  readonly proof?: Buffer | undefined
}
