/** What the FHIR plugin offers to others: places where they add to the capability statement and check what is written. */

import { defineService } from '../../kernel/index.ts'
import type { References, Reindexing } from '../search/service.ts'
import type { WriteCheck } from '../storage/service.ts'
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
export type { CapabilityPart } from './capability-part.ts'
export type {
  Invocation,
  Operation,
  OperationAnswer,
  OperationChange,
  OperationChanged,
  OperationChanges,
} from './operations/operation.ts'
export type { Inputs, OperationParameter } from './operations/operation-parameter.ts'
export { Resources } from './session/resources.ts'
export type {
  Beside,
  CurrentResource,
  HistoryOptions,
  Made,
  NumberRange,
  Page,
  PastVersion,
  Session,
  SessionChange,
  SessionChanged,
  SessionReads,
  Streamed,
  Who,
} from './session/session.ts'

export interface Fhir extends Reindexing {
  /** In setup only: shown in /metadata. */
  describe(part: CapabilityPart): void
  /** In setup only. */
  check(check: WriteCheck): void
  /** In setup only: `$code` over HTTP and in Bundles, and in /metadata. */
  operation(operation: Operation): void
  /**
   * In setup only: nobody changes resources of this type over HTTP; each attempt is answered 405 and told to the trail.
   * `why` follows the name of the type: `is written by the audit trail`. With `readAt` it is not stored as resources either:
   * searches, histories and entries of a Bundle that ask for it are answered 400 with this: `send GET /_audit`.
   */
  ownsType(type: string, why: string, readAt?: string): void
  /** While the server runs: where references point, what they find, and what refers to a resource. */
  readonly references: References
}

export const Fhir = defineService<Fhir>('fhir')
