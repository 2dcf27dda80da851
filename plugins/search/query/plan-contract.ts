/** How conditions are met: which one a search starts from. */
import type { SearchClause } from './clause.ts'

export interface Plan {
  readonly type: number
  readonly conditions: readonly SearchClause[]
  /** Where the search starts; undefined: the resources of the type, newest first. */
  readonly drivingClause: SearchClause | undefined
  /** Rows the driver gives, counted up to a bound. */
  readonly size: number
  /** True when `size` is the bound: there may be many more. */
  readonly isEstimate: boolean
  /** The conditions it could start from as well, whose size has to be counted. */
  readonly candidates: readonly SearchClause[]
  /** Read along a key that has rid next: a page needs no more than its own rows and what the checks refuse. */
  readonly isOrdered: boolean
}

/**
 * Says how the conditions on resources of a type are best met. `isInner`: all matches are looked for, to find others by
 * them, and not the newest.
 */
export type Planner = (type: number, given: readonly SearchClause[], isInner?: boolean) => Promise<Plan>
