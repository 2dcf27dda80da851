/** What searches of one source are understood, planned and performed with. */
import type { Transaction } from '../../database/service.ts'
import type { Registry } from '../index/registry.ts'
import type { CodeExpander } from '../query/code-expander.ts'
import type { ContainedCriteria } from '../query/contained/contained-criteria.ts'
import type { Criteria } from '../query/criteria.ts'
import type { Planner } from '../query/plan-contract.ts'
import type { Executor } from './executor.ts'
import type { createQueryTrace } from './explain.ts'
import type { Includer } from './include.ts'
import type { Referred } from './referred.ts'

export interface PlannedSearch {
  readonly registry: Registry
  readonly criteria: Criteria
  /** Undefined in a transaction, and where no plugin offers it. */
  readonly terminology: CodeExpander | undefined
  /** The same for contained resources. */
  readonly containedCriteria: ContainedCriteria
  readonly planner: Planner
  readonly executor: Executor
  readonly includer: Includer
  readonly referred: Referred
  /** Largest rid there is now: what a first page may see. */
  snapshotKey(): Promise<number>
  /** Types that have resources. */
  usedTypes(): Promise<readonly string[]>
  /** The same search inside a transaction: it finds what was written there. */
  within(transaction: Transaction): PlannedSearch
  /** For `_explain`: notes the statements of one search. */
  tracer(): ReturnType<typeof createQueryTrace>
  /**
   * Before a search by these names is understood: true when another server has changed what they mean. Undefined where
   * there is no other server.
   */
  readonly refreshDefinitions: ((names: readonly string[]) => Promise<boolean>) | undefined
}
