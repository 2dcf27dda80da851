/** One event of the trail: names and numbers only, never content. */
import type { FactDetails, InteractionKind } from '../../kernel/index.ts'

/** The interactions, and what the trail tells beside them. */
export type EventKind = InteractionKind | 'start' | 'stop' | 'sampled' | 'prune' | 'rekey' | 'alarm'

/** By number, which is what is stored: only ever added to. */
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
]

const CODES: ReadonlyMap<EventKind, number> = new Map(KINDS.map((kind, code) => [kind, code]))

export const eventCode = (kind: EventKind): number => CODES.get(kind) as number

export interface TrailEvent {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly kind: EventKind
  /** HTTP status; 200 and 500 for what is no request. */
  readonly status: number
  readonly type?: string | undefined
  readonly id?: string | undefined
  readonly version?: number | undefined
  /** Asked when the event is written: which patients it is about, a row for each, and what was searched for. */
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
   * How many resources were shown, how many a `sampled` stands for, up to which event a `prune` went; 1 of a refusal that
   * concerned something that is there and hidden from the caller.
   */
  readonly number?: number | undefined
  /** Proof of a new key. */
  readonly proof?: Buffer | undefined
}
