/** A plan of a search: the clause it starts from, and what is known of its size. */
import type { SearchClause } from './clause.ts'

export interface Plan {
  readonly type: number
  readonly conditions: readonly SearchClause[]
  /** The clause that the search starts from. Undefined: it reads the resources of the type, newest first. */
  readonly drivingClause: SearchClause | undefined
  /** Rows of the driving clause, counted up to a limit. */
  readonly size: number
  /** True when the count reached the limit, so there may be many more rows. */
  readonly isEstimate: boolean
  /** Clauses that the search could also start from, and whose rows have to be counted. */
  readonly candidates: readonly SearchClause[]
  /**
   * True when rows are read in the order of their resource keys: a page then reads only its own rows and those that
   * the checks reject.
   */
  readonly isOrdered: boolean
}

/**
 * Makes the plan for clauses on resources of a type. `isInner`: all matches are needed, to find other resources by
 * them, and not only the newest.
 */
export type Planner = (type: number, given: readonly SearchClause[], isInner?: boolean) => Promise<Plan>
