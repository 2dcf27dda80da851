/**
 * The service `Fhir`: other plugins add to the capability statement, and add checks of writes, operations and types.
 */

import { defineService, type Hooks, type RequestContext, type Restriction } from '../../kernel/index.ts'
import type { References, Reindexing } from '../search/service.ts'
import type { WriteCheck } from '../storage/service.ts'
import type { BesideResources } from './beside.ts'
import type { CapabilityPart } from './capability-part.ts'
import type { Operation } from './operations/operation.ts'

export type { ReadReference, Target } from '../model/service.ts'
export type {
  Matcher,
  MatchSubject,
  References,
  Referrer,
  Reindex,
  ReindexListener,
  ReindexProgress,
  ReindexScope,
  TargetVersion,
} from '../search/service.ts'
export type {
  AppliedChange,
  RejectedChange,
  RestrictedChange,
  WriteCheck,
  WriteCheckInput,
} from '../storage/service.ts'
export type { BesideResources } from './beside.ts'
export type { CapabilityPart } from './capability-part.ts'
export { acceptedFormat } from './http/media.ts'
export { SNAPSHOT_HEADER } from './http/snapshot-header.ts'
export type {
  AnsweringOperation,
  Invocation,
  Operation,
  OperationAnswer,
  OperationChange,
  OperationChanged,
  OperationChanges,
} from './operations/operation.ts'
export { isPosted } from './operations/operation.ts'
export type { Inputs, OperationParameter } from './operations/operation-parameter.ts'
export { present } from './presentation/present.ts'
export { readPrefer } from './presentation/presentation-parameters.ts'
export { withKnownElements } from './presentation/requested-elements.ts'
export { Resources } from './session/resources.ts'
export type {
  AsOfOptions,
  AsOfResource,
  Beside,
  CurrentResource,
  HistoryOptions,
  Made,
  NumberRange,
  PackedBody,
  Page,
  PastVersion,
  Session,
  SessionChange,
  SessionChanged,
  SessionReads,
  Streamed,
  Who,
} from './session/session.ts'

export interface InterfaceOutline {
  /** The text of /metadata for a request. */
  capabilities(request: RequestContext): Promise<string>
  /** Replaced by another object when search parameters have changed, so that what was made of them can be cached. */
  readonly searchMeaning: object
  readonly operations: readonly Operation[]
  /** Parameters of a search that concern its result. */
  readonly resultParameters: readonly string[]
}

export interface Fhir extends Reindexing {
  /** In setup only: adds a part to the capability statement. */
  describe(part: CapabilityPart): void
  /** In setup only: adds a check of every write. */
  check(check: WriteCheck): void
  /** In setup only: adds the operation `$code` over HTTP and in Bundles, and lists it in /metadata. */
  operation(operation: Operation): void
  /**
   * In setup only: lets clients only read this type. Each attempt to change it over HTTP is answered with 405 and
   * audited. `why` follows the name of the type in that answer: `is written by the audit trail`. `readAt` is given for a
   * type that is not stored as resources: searches, histories and Bundle entries that read it are answered with 400,
   * which names the address to use instead, such as `GET /_audit`.
   */
  ownsType(type: string, why: string, readAt?: string): void
  /**
   * In setup only: a restriction of all callers, whatever the settings were when a caller was authorized: taps `authorize` of
   * the given hooks with it, adds it to sessions of stored callers, such as those of exports and Subscriptions, and leaves out
   * of /metadata what it closes. Sessions of the server itself are not concerned.
   */
  restrictEveryone(hooks: Pick<Hooks, 'authorize'>, restriction: Restriction): void
  /** In setup only: resources that are not stored, and can be read and searched, but not changed. */
  showBeside(resources: BesideResources): void
  /** While the server runs: what the interface consists of, for descriptions of it. */
  readonly outline: InterfaceOutline
  /** True for a type that is not stored as resources, but read at another address. */
  isReadElsewhere(type: string): boolean
  /**
   * While the server runs: what the references of a resource point to, whether it is stored, and what refers to a
   * resource.
   */
  readonly references: References
}

export const Fhir = defineService<Fhir>('fhir')
