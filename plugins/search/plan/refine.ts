/**
 * Where all clauses of a search are long, its newest matches are found soonest by going through the newest resources. All
 * matches are not, nor those that lie far back: then it is worth some milliseconds, beside the main thread, to count on
 * and to start from the clause that is the shortest after all.
 */

import { unite } from '../query/clause-sql.ts'
import type { Plan } from '../query/plan-contract.ts'
import { type Fragment, join, q } from '../sql/fragment.ts'
import { countOf, isOrdered, SHORT_COUNTS } from './plan.ts'
import type { RowEstimates } from './row-estimates.ts'

/** Rows of a clause are counted up to so many: some tens of milliseconds where they have to be read from the disk. */
const MAX_COUNTED_KEYS = 50_000
/** A row of a clause, collected and looked up, takes about as long as so many resources of the type in their order. */
const WORTH = 2

/** Asks the database beside the main thread. */
export type CountInBackground = (statement: Fragment) => Promise<readonly Record<string, number>[]>

/** Could it start from a clause that was only found to be long? */
export const isLong = ({ isEstimate, drivingClause, candidates }: Plan): boolean =>
  isEstimate && candidates.some((one) => one !== drivingClause)

/** `sizes`: what was counted before; undefined inside a transaction, where nothing is kept. */
export const createPlanRefiner = (rowEstimates: RowEstimates | undefined) => {
  const count = async (
    clauses: readonly Fragment[],
    most: number,
    ask: CountInBackground,
  ): Promise<readonly number[]> => {
    const found = clauses.map((clause) => {
      const rows = rowEstimates?.get(clause)
      // Where a short count ended there may be more.
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
   * The same plan, or one from a shorter clause. `isWhole`: all matches are needed together, so it is worth counting a
   * clause too that it starts from already.
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
