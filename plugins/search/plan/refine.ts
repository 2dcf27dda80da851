/**
 * Improves a plan in which all clauses have many rows. A scan of the newest resources finds the newest matches
 * fastest, but it is slow for all matches or for old ones. Then it is worth some milliseconds in a worker thread to
 * count further and to start from the shortest clause.
 */

import { unite } from '../query/clause-sql.ts'
import type { Plan } from '../query/plan-contract.ts'
import { type Fragment, join, q } from '../sql/fragment.ts'
import { countOf, isOrdered, SHORT_COUNTS } from './plan.ts'
import type { RowEstimates } from './row-estimates.ts'

/** Limit of these counts. Reading so many rows from the disk takes some tens of milliseconds. */
const MAX_COUNTED_KEYS = 50_000
/** Cost of one row of a clause, which is collected and looked up, in rows of a scan of the type. */
const WORTH = 2

/** Runs a statement in a worker thread. */
export type CountInBackground = (statement: Fragment) => Promise<readonly Record<string, number>[]>

/** True when the search could start from another clause whose exact size is unknown. */
export const isLong = ({ isEstimate, drivingClause, candidates }: Plan): boolean =>
  isEstimate && candidates.some((one) => one !== drivingClause)

/** `rowEstimates`: earlier counts. Undefined inside a transaction, where nothing is cached. */
export const createPlanRefiner = (rowEstimates: RowEstimates | undefined) => {
  const count = async (
    clauses: readonly Fragment[],
    most: number,
    ask: CountInBackground,
  ): Promise<readonly number[]> => {
    const found = clauses.map((clause) => {
      const rows = rowEstimates?.get(clause)
      // A count that stopped at its limit has to be repeated.
      return rows !== undefined && SHORT_COUNTS.includes(rows) ? undefined : rows
    })
    const open = found.flatMap((rows, at) => (rows === undefined ? [at] : []))
    if (open.length === 0) return found as number[]
    const counts = open.map((at) => countOf(clauses[at] as Fragment, most, at))
    const [row] = await ask(q`SELECT ${join(counts, ', ')}`)
    for (const at of open) {
      const rows = Number(row?.[`n${at}`] ?? 0)
      rowEstimates?.set(clauses[at] as Fragment, rows)
      found[at] = rows
    }
    return found as number[]
  }

  /**
   * Returns the same plan, or one with a shorter driving clause. `isWhole`: all matches are needed, so the present
   * driving clause is counted, too.
   */
  return async (plan: Plan, ask: CountInBackground, isWhole = false): Promise<Plan> => {
    if (isWhole ? !plan.isEstimate || plan.candidates.length === 0 : !isLong(plan)) return plan
    const { candidates, type } = plan
    const counted = await count(
      candidates.map(({ sources }) => unite(sources ?? [])),
      MAX_COUNTED_KEYS,
      ask,
    )
    const size = Math.min(...counted)
    const drivingClause = candidates[counted.indexOf(size)]
    if (drivingClause === undefined || (!isWhole && drivingClause === plan.drivingClause) || size >= MAX_COUNTED_KEYS)
      return plan
    const [all] = await count(
      [q`SELECT d.rid AS rid FROM ix_res d WHERE d.type = ${type}`],
      WORTH * MAX_COUNTED_KEYS,
      ask,
    )
    return size * WORTH > (all as number)
      ? plan
      : { ...plan, drivingClause, size, isEstimate: false, isOrdered: isOrdered(drivingClause) }
  }
}

export type PlanRefiner = ReturnType<typeof createPlanRefiner>
