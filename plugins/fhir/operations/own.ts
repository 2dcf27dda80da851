/** An operation of this plugin itself, which may see all of the server. */

import type { StoredVersion } from '../../storage/version.ts'
import type { Asked } from '../interactions/request.ts'
import type { FhirServer } from '../parts.ts'
import type { Invocation, Operation } from './operation.ts'

export interface OwnInvocation extends Invocation {
  /** Inside a transaction, one that reads there. */
  readonly server: FhirServer
  readonly asked: Asked
  /** To be told what was given out besides what `data` did. */
  shown(versions: readonly StoredVersion[]): void
}

export type OwnOperation = Operation<OwnInvocation>
