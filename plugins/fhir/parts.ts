/** What the interactions share: made at start, once the packages are installed. */

import type { Clock, Random, Runners } from '../../kernel/index.ts'
import type { Transaction } from '../database/service.ts'
import type { Catalog, Elements, Links } from '../model/service.ts'
import type { Definitions } from '../packages/service.ts'
import type { AccessEvaluator, Patients, References, Search } from '../search/service.ts'
import type { Store, StoredVersion, WriteCheck, WritePath } from '../storage/service.ts'
import type { Validator } from '../validation/service.ts'
import type { CapabilityOptions } from './interactions/capability-options.ts'
import type { OwnedTypes } from './interactions/owned-types.ts'
import type { Asked } from './interactions/request.ts'
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
  readonly catalog: Catalog
  readonly store: Store
  readonly write: WritePath
  readonly search: Search
  readonly evaluator: AccessEvaluator
  readonly links: Links
  readonly large: LargeBodies
  /** What elements types have: for patches by path. */
  readonly elements: Elements
  readonly owned: OwnedTypes
  readonly operations: Operations<OwnInvocation>
  readonly references: References
  readonly patients: Patients
  /** What /metadata says beside what is registered. */
  readonly capabilities: CapabilityOptions
  readonly definitions: Definitions
  /** Undefined when no plugin validates. */
  readonly validator: Validator | undefined
  readonly checks: readonly WriteCheck[]
  /** A conditional delete takes all that match. */
  readonly deletesMany: boolean
  /** Entries of a page when `_count` is not given, and the most it may ask for. */
  readonly page: { readonly usual: number; readonly most: number }
}

export interface OwnInvocation extends Invocation {
  /** Inside a transaction, one that reads there. */
  readonly server: FhirServer
  readonly asked: Asked
  /** To be told what was given out besides what `data` did. */
  shown(versions: readonly StoredVersion[]): void
}
