/** Matches next to a position, and what it takes to read them. */
import type { RowSource, StoredVersion, VersionRow } from '../../storage/service.ts'
import type { TypeConditions } from '../query/clause-sql.ts'
import type { PagePosition } from '../query/page-token.ts'
import type { Plan } from '../query/plan-contract.ts'
import type { SortKey } from '../query/sort-order.ts'
import type { Fragment } from '../sql/fragment.ts'
import type { StatementCache } from '../sql/statements.ts'
import type { Deadline } from './deadline.ts'
import type { Direction } from './plan.ts'
import type { RunStatement } from './run-statement.ts'
import type { SortedMatch } from './sort-in-memory.ts'

export interface SearchMatch {
  readonly version: StoredVersion
  readonly keys: readonly (string | number)[]
  /** Its key in the order of the page, when that is not its resource key. */
  readonly sortPosition?: number
  /** Index in `contained`, when the match is that contained resource. */
  readonly contained?: number | undefined
}

/** Result of one attempt to read a page. */
export interface Nearest {
  readonly matches: readonly SearchMatch[]
  /** Number of matches that were found, before their content was read. */
  readonly places: number
  /** The last of these. Undefined when the content was read in the same statement. */
  readonly last?: SortedMatch | undefined
}

export type NextRows = <R>(
  plan: Plan,
  position: PagePosition,
  limit: number,
  direction: Direction,
  asking: Deadline,
  rowsOf: (found: Fragment, small: boolean) => Promise<R[]>,
) => Promise<R[]>

/** Functions of the executor that read a page. */
export interface NearestParts {
  readonly source: RowSource
  readonly statements: StatementCache
  /** Columns of the table of resources, alias `r`. */
  readonly columns: Fragment
  readonly all: RunStatement
  /** Reads the resources that still exist and match `required`, in the order of the keys. */
  readonly versions: (
    rids: readonly number[],
    asking: Deadline,
    required: readonly TypeConditions[],
  ) => Promise<readonly StoredVersion[]>
  readonly toVersion: (row: VersionRow) => StoredVersion
  readonly refined: (plan: Plan, asking: Deadline, isSorted?: boolean) => Promise<Plan>
  /** SQL that selects all matches of some plans, unsorted. */
  readonly union: (plans: readonly Plan[], pin: number, asking: Deadline) => Promise<Fragment>
  /** Reads the rows next to a position for one plan, in the order of resource keys. */
  readonly nextRows: NextRows
  /** True when the plan certainly reads few rows. */
  readonly hasFewRows: (plan: Plan) => boolean
}

/** The result where the content was read in the same statement. */
export const allThere = (matches: readonly SearchMatch[]): Nearest => ({ matches, places: matches.length })

/** Reads at most `limit` matches next to `position`, nearest first. Fewer only when there are no more. */
export type FindNearest = (
  plans: readonly Plan[],
  position: PagePosition,
  keys: readonly SortKey[],
  limit: number,
  direction: Direction,
  asking: Deadline,
) => Promise<readonly SearchMatch[]>
