/** The parts that understand, plan and perform searches on one source: committed data or a transaction. */
import type { Transaction } from '../../database/service.ts'
import type { Registry } from '../index/registry.ts'
import type { CodeExpander } from '../query/code-expander.ts'
import type { ContainedCriteria } from '../query/contained/contained-criteria.ts'
import type { Criteria } from '../query/criteria.ts'
import type { Planner } from '../query/plan-contract.ts'
import type { Executor } from './executor.ts'
import type { createQueryTrace } from './explain.ts'
import type { Includer } from './include.ts'
import type { WatchPlans } from './plan-summary.ts'
import type { Referred } from './referred.ts'

export interface PlannedSearch {
  readonly registry: Registry
  readonly criteria: Criteria
  /** Undefined in a transaction, and when no plugin provides a terminology. */
  readonly terminology: CodeExpander | undefined
  /** The criteria for contained resources. */
  readonly containedCriteria: ContainedCriteria
  readonly planner: Planner
  readonly executor: Executor
  readonly includer: Includer
  readonly referred: Referred
  /** The largest resource key now: the snapshot of a first page. */
  snapshotKey(): Promise<number>
  /** Names of the types that have resources. */
  usedTypes(): Promise<readonly string[]>
  /** The search inside a transaction, which also finds what the transaction has written. */
  within(transaction: Transaction): PlannedSearch
  /**
   * Runs `work` with a search that reads everything from one snapshot of the committed data. Undefined where each statement
   * has its own: on a server that writes, and inside a transaction.
   */
  readonly inSnapshot: (<T>(work: (search: PlannedSearch) => Promise<T>) => Promise<T>) | undefined
  /** Told of the plans of each search; undefined where nobody traces requests. */
  readonly watchPlans: WatchPlans | undefined
  /** Records the statements of one search, for `_explain`. */
  tracer(): ReturnType<typeof createQueryTrace>
  /**
   * Called with the parameter names of a search before they are resolved. Resolves to true when another server has
   * changed the definitions. Undefined where there are no other servers.
   */
  readonly refreshDefinitions: ((names: readonly string[]) => Promise<boolean>) | undefined
}
