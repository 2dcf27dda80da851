/** What the interactions share: made at start, once the packages are installed. */

import type { Clock, Random, Runners } from '../../kernel/index.ts'
import type { Transaction } from '../database/service.ts'
import type { Elements, ReferenceWalker, TypeCatalog } from '../model/service.ts'
import type { Definitions } from '../packages/service.ts'
import type { AccessEvaluator, PatientSubjects, References, Search } from '../search/service.ts'
import type { StoredVersion, VersionStore, WriteCheck, WritePath } from '../storage/service.ts'
import type { Validator } from '../validation/service.ts'
import type { CapabilityOptions } from './interactions/capability-options.ts'
import type { ServerOwnedTypes } from './interactions/owned-types.ts'
import type { InteractionRequest } from './interactions/request.ts'
import type { LargeBodies } from './large/large-bodies.ts'
import type { Invocation } from './operations/operation.ts'
import type { Operations } from './operations/registry.ts'

/** What is told of a read in a transaction belongs to it: whoever keeps it cannot open another one there. */
const telling = (run: Runners, transaction: Transaction): Runners => {
  const { onAudit } = run
  return onAudit === null ? run : { ...run, onAudit: (fact) => onAudit({ ...fact, transaction }) }
}

/** The server as the interactions of one transaction see it: what they read is what was written there. */
export const within = (server: FhirServer, transaction: Transaction): FhirServer => ({
  ...server,
  transaction,
  run: telling(server.run, transaction),
  store: server.store.within(transaction),
  search: server.search.within(transaction),
  evaluator: server.evaluator.inside(transaction),
})

export interface FhirServer {
  /** Set where all is read inside of one. */
  readonly transaction?: Transaction
  readonly run: Runners
  readonly clock: Clock
  readonly random: Random
  readonly catalog: TypeCatalog
  readonly store: VersionStore
  readonly write: WritePath
  readonly search: Search
  readonly evaluator: AccessEvaluator
  readonly referenceWalker: ReferenceWalker
  readonly large: LargeBodies
  /** What elements types have: for patches by path. */
  readonly elements: Elements
  readonly owned: ServerOwnedTypes
  readonly operations: Operations<BuiltInInvocation>
  readonly references: References
  readonly patientSubjects: PatientSubjects
  /** What /metadata says beside what is registered. */
  readonly capabilities: CapabilityOptions
  readonly definitions: Definitions
  /** Undefined when no plugin validates. */
  readonly validator: Validator | undefined
  readonly checks: readonly WriteCheck[]
  /** A conditional delete takes all that match. */
  readonly deletesMany: boolean
  /** Entries of a page when `_count` is not given, and the most it may ask for. */
  readonly page: { readonly default: number; readonly max: number }
}

export interface BuiltInInvocation extends Invocation {
  /** Inside a transaction, one that reads there. */
  readonly server: FhirServer
  readonly interactionRequest: InteractionRequest
  /** To be told what was given out besides what `data` did. */
  shown(versions: readonly StoredVersion[]): void
}
