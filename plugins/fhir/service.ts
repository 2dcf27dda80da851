/** What the FHIR plugin offers to others: places where they add to the capability statement and check what is written. */

import { defineService } from '../../kernel/index.ts'
import type { Reindexing } from '../search/index/reindexing.ts'
import type { References } from '../search/reference-index.ts'
import type { WriteCheck } from '../storage/write-check.ts'
import type { CapabilityPart } from './capability.ts'
import type { Operation } from './operations/operation.ts'

export type { ReadReference, Target } from '../model/references/read-reference.ts'
export type { Reindex, ReindexScope, ReindexStep, ReindexWatch } from '../search/index/backfill/reindex.ts'
export type { References, Referrer, TargetVersion } from '../search/reference-index.ts'
export type { Incoming, MadeChange, RefusedChange, RestrictedChange, WriteCheck } from '../storage/write-check.ts'
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

export interface Fhir extends Reindexing {
  /** In setup only: shown in /metadata. */
  describe(part: CapabilityPart): void
  /** In setup only. */
  check(check: WriteCheck): void
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
