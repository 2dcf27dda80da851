/** The interface of write checks, which other plugins add, and the arguments that they get. */
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

/** Shows a check what a caller with limited access may know. */
export interface RestrictedChange {
  /** The content before the change; undefined if there was none. Parsed at each access. */
  readonly previous: Readonly<Record<string, unknown>> | undefined
  /** The references of `previous`, if a worker thread has read them; `previous` then need not be parsed. */
  readonly referred?: readonly ReadReference[] | undefined
  /**
   * Whether the access itself names this resource, as a compartment or as the user. The caller then knows of it, so a check
   * may reveal whether it exists, without asking `sees`.
   */
  names(target: Pick<Target, 'type' | 'id'>): boolean
  /** Whether the caller may see the version. To be called for versions that `References.find` returned. */
  sees(found: StoredVersion): boolean
}

/** A change that was made inside a transaction which is still open. */
export interface AppliedChange {
  readonly interaction: Interaction
  /** The new version; for a deletion the version without content. */
  readonly version: { readonly rid: number; readonly type: string; readonly id: string; readonly deleted: boolean }
  /** Undefined for a deletion. */
  readonly resource: Readonly<Record<string, unknown>> | undefined
  /** False if nothing was written: the resource was already deleted, or already had this content. */
  readonly written: boolean
  /** Set if the caller's access is limited. A check must then reveal nothing about resources that the caller may not see. */
  readonly restricted?: RestrictedChange | undefined
}

/** A change that a check rejects, and the error for it. */
export interface RejectedChange {
  readonly interaction: Interaction
  readonly error: ServerError
}

/** A check of every write, whether by a single request, a Bundle, a patch or an operation. */
export interface WriteCheck {
  /** For messages: `references`. */
  readonly name: string
  /** Resource type that the check is for; all types if absent. */
  readonly type?: string
  /** Called before the transaction. Throws 4xx for an error that the resource itself shows. */
  checkContent?(incoming: WriteCheckInput): void | Promise<void>
  /**
   * Called inside the transaction after all its changes were made. Returns the rejected ones. It should look up data for all
   * changes in one query, and must read through `transaction`.
   */
  checkInTransaction?(
    request: RequestContext,
    transaction: Transaction,
    changes: readonly AppliedChange[],
  ): MaybePromise<readonly RejectedChange[]>
  /** Called after COMMIT, before the answer is sent. It must not throw, because the changes are permanent. */
  afterCommit?(changes: readonly AppliedChange[]): MaybePromise<void>
}
