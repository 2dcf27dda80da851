/** A check of what is written, as plugins add it, and what it is told. */
import type { Interaction, RequestContext, ServerError } from '../../kernel/index.ts'
import type { MaybePromise, Transaction } from '../database/service.ts'
import type { ReadReference, Target } from '../model/service.ts'
import type { StoredVersion } from './version.ts'

/** A resource that is about to be written. */
export interface WriteCheckInput {
  readonly request: RequestContext
  readonly interaction: Interaction
  readonly resource: Readonly<Record<string, unknown>>
  /** The JSON it was parsed from. */
  readonly text: string
}

/** What a caller with limited access may know. */
export interface RestrictedChange {
  /** The content before; undefined where there was none. */
  readonly previous: Readonly<Record<string, unknown>> | undefined
  /** The references of `previous` where a thread has read it: then it need not be parsed. */
  readonly referred?: readonly ReadReference[] | undefined
  /** Does the access itself name this resource, as its compartment or its user? Then only its existence counts. */
  names(target: Pick<Target, 'type' | 'id'>): boolean
  /** May the caller see it? Call this for what `References.find` gave. */
  sees(found: StoredVersion): boolean
}

/** A change that was made inside a transaction which is still open. */
export interface AppliedChange {
  readonly interaction: Interaction
  /** The new version; of a deletion, the version without content. */
  readonly version: { readonly rid: number; readonly type: string; readonly id: string; readonly deleted: boolean }
  /** Undefined for a deletion. */
  readonly resource: Readonly<Record<string, unknown>> | undefined
  /** False when nothing had to be written: deleting what is deleted, an update to what is stored. */
  readonly written: boolean
  /** Set when the caller's access is limited: a check tells it nothing of what it may not see. */
  readonly restricted?: RestrictedChange | undefined
}

/** A change that must not stand, and why. */
export interface RejectedChange {
  readonly interaction: Interaction
  readonly error: ServerError
}

/** A check of every write: single, in a Bundle, by a patch or an operation. */
export interface WriteCheck {
  /** For messages: `references`. */
  readonly name: string
  /** Resource type it is for; all when left out. */
  readonly type?: string
  /** Before the transaction: throws 4xx for what the resource itself shows. */
  checkContent?(incoming: WriteCheckInput): void | Promise<void>
  /**
   * Inside the transaction, once all its changes are made: those that must not stand. One look-up for all of them; what
   * it reads has to be read through `transaction`.
   */
  checkInTransaction?(
    request: RequestContext,
    transaction: Transaction,
    changes: readonly AppliedChange[],
  ): MaybePromise<readonly RejectedChange[]>
  /** After COMMIT, before the answer goes out. It must not throw: what was written stands. */
  afterCommit?(changes: readonly AppliedChange[]): MaybePromise<void>
}
