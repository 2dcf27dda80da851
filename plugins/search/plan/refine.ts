/**
 * Where all clauses of a search are long, its newest matches are found soonest by going through the newest resources. All
 * matches are not, nor those that lie far back: then it is worth some milliseconds, beside the main thread, to count on
 * and to start from the clause that is the shortest after all.
 */

import { unite } from '../query/clause-sql.ts'
import type { Plan } from '../query/plan-contract.ts'
import { type Fragment, join, q } from '../sql/fragment.ts'
import { countOf, isOrdered, SHORT_COUNTS } from './plan.ts'
import type { Sizes } from './row-estimates.ts'

/** Rows of a clause are counted up to so many: some tens of milliseconds where they have to be read from the disk. */
const MOST = 50_000
/** A row of a clause, collected and looked up, takes about as long as so many resources of the type in their order. */
const WORTH = 2

/** Asks the database beside the main thread. */
export type AskSlow = (statement: Fragment) => Promise<readonly Record<string, number>[]>

/** Could it start from a clause that was only found to be long? */
export const isLong = ({ many, driver, able }: Plan): boolean => many && able.some((one) => one !== driver)

/** `sizes`: what was counted before; undefined inside a transaction, where nothing is kept. */
export const createRefiner = (sizes: Sizes | undefined) => {
  const count = async (clauses: readonly Fragment[], most: number, ask: AskSlow): Promise<readonly number[]> => {
    const found = clauses.map((clause) => {
      const rows = sizes?.get(clause)
      // Where a short count ended there may be more.
      return rows !== undefined && SHORT_COUNTS.includes(rows) ? undefined : rows
    })
    const open = found.flatMap((rows, at) => (rows === undefined ? [at] : []))
    if (open.length === 0) return found as number[]
    const counts = open.map((at) => countOf(clauses[at] as Fragment, most, at))
    const [row] = await ask(q`SELECT ${join(counts, ', ')}`)
    for (const at of open) {
      const rows = Number(row?.[`n${at}`] ?? 0)
      sizes?.set(clauses[at] as Fragment, rows)
      found[at] = rows
    }
    return found as number[]
  }

  /**
   * The same plan, or one from a shorter clause. `isWhole`: all matches are needed together, so it is worth counting a
   * clause too that it starts from already.
   */
  return async (plan: Plan, ask: AskSlow, isWhole = false): Promise<Plan> => {
    if (isWhole ? !plan.many || plan.able.length === 0 : !isLong(plan)) return plan
    const { able, type } = plan
    const counted = await count(
      able.map(({ sources }) => unite(sources ?? [])),
      MOST,
      ask,
    )
    const size = Math.min(...counted)
    const driver = able[counted.indexOf(size)]
    if (driver === undefined || (!isWhole && driver === plan.driver) || size >= MOST) return plan
    const [all] = await count([q`SELECT d.rid AS rid FROM ix_res d WHERE d.type = ${type}`], WORTH * MOST, ask)
    return size * WORTH > (all as number) ? plan : { ...plan, driver, size, many: false, ordered: isOrdered(driver) }
  }
}

export type Refiner = ReturnType<typeof createRefiner>
