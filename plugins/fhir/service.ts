/** What the FHIR plugin offers to others: places where they add to the capability statement and check what is written. */
import { defineService, type Interaction, type RequestContext, type ServerError } from '../../kernel/index.ts'
import type { Eventually, Transaction } from '../database/service.ts'
import type { Reindex } from '../search/index/backfill/reindex.ts'
import type { References, Target, TargetVersion } from '../search/reference-index.ts'
import type { CapabilityPart } from './capability.ts'
import type { Operation } from './operations/operation.ts'

export type { Reindex, ReindexScope, ReindexStep, ReindexWatch } from '../search/index/backfill/reindex.ts'
export type { ReadReference, References, Referrer, Target, TargetVersion } from '../search/reference-index.ts'
export type { CapabilityPart } from './capability.ts'
export type { Data, Held } from './operations/data.ts'
export type { Inputs } from './operations/inputs.ts'
export type {
  Invocation,
  Operation,
  OperationAnswer,
  OperationChange,
  OperationChanged,
  OperationChanges,
  OperationParameter,
} from './operations/operation.ts'

/** A resource that is about to be written. */
export interface Incoming {
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
  /** Does the access itself name this resource, as its compartment or its user? Then only its existence counts. */
  names(target: Pick<Target, 'type' | 'id'>): boolean
  /** May the caller see it? Call this for what `References.find` gave. */
  sees(found: TargetVersion): boolean
}

/** A change that was made inside a transaction which is still open. */
export interface MadeChange {
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
export interface RefusedChange {
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
  examine?(incoming: Incoming): void | Promise<void>
  /**
   * Inside the transaction, once all its changes are made: those that must not stand. One look-up for all of them; what
   * it reads has to be read through `transaction`.
   */
  confirm?(
    request: RequestContext,
    transaction: Transaction,
    changes: readonly MadeChange[],
  ): Eventually<readonly RefusedChange[]>
  /** After COMMIT, before the answer goes out. It must not throw: what was written stands. */
  committed?(changes: readonly MadeChange[]): Eventually<void>
}

export interface Fhir {
  /** In setup only: shown in /metadata. */
  describe(part: CapabilityPart): void
  /** In setup only. */
  check(check: WriteCheck): void
  /** Before the start: columns that are not complete are left to `reindex`. For its command. */
  deferIndexing(): void
  /** Once started: rebuilds index rows. Throws `fhir/reindex-unknown`. */
  readonly reindex: Reindex
  /** In setup only: `$code` over HTTP and in Bundles, and in /metadata. */
  operation(operation: Operation): void
  /**
   * In setup only: nobody changes resources of this type over HTTP; each attempt is answered 405 and told to the trail.
   * `why` follows the name of the type: `is written by the audit trail`.
   */
  owns(type: string, why: string): void
  /**
   * While the server runs: the stored resource of a type that others call `url`, `url|version` or `Type/id`; of several
   * the active one of the highest version. No ruling is asked: for definitions, never for data of patients.
   */
  stored(type: string, name: string): Promise<Readonly<Record<string, unknown>> | undefined>
  /** While the server runs: where references point, what they find, and what refers to a resource. */
  readonly references: References
}

export const Fhir = defineService<Fhir>('fhir')
