/** What the interactions share: made at start, once the packages are installed. */
import type { Clock, Random, Runners } from '../../kernel/index.ts'
import type { Transaction } from '../database/service.ts'
import type { Catalog } from '../model/catalog.ts'
import type { Links } from '../model/references/reference-walker.ts'
import type { Elements } from '../model/snapshot/element-index.ts'
import type { Definitions } from '../packages/service.ts'
import type { AccessEvaluator } from '../search/access/access-evaluator.ts'
import type { Patients } from '../search/definition/patients.ts'
import type { Search } from '../search/open-search.ts'
import type { References } from '../search/reference-index.ts'
import type { Store } from '../storage/storage.ts'
import type { WriteCheck } from '../storage/write-check.ts'
import type { WritePath } from '../storage/write-path.ts'
import type { Validator } from '../validation/service.ts'
import type { CapabilityOptions } from './interactions/capabilities.ts'
import type { OwnedTypes } from './interactions/server-owned-types.ts'
import type { LargeBodies } from './large/large-bodies.ts'
import type { OwnInvocation } from './operations/own.ts'
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
