/** Conditions that are planned → SQL that selects the rids of every match. */

import { type Fragment, join, q } from '../sql/fragment.ts'
import type { Source } from './clause.ts'
import type { Plan } from './plan-contract.ts'

export const createNames = (): (() => string) => {
  let count = 0
  return () => {
    count += 1
    return `a${count}`
  }
}

/** The rows of them all. */
export const unite = (sources: readonly Source[]): Fragment =>
  sources.length === 1
    ? (sources[0] as Source).rids
    : join(
        sources.map(({ rids }) => rids),
        ' UNION ALL ',
      )

/** `AND` before each check but the driver's. */
export const checks = (
  { conditions, driver }: Pick<Plan, 'conditions' | 'driver'>,
  d: string,
  name: () => string,
): Fragment =>
  join(
    conditions.filter((one) => one !== driver).map((one) => q` AND ${one.probe(d, name)}`),
    '',
  )

/** Every match, each once, in no order: for sorting, counting, and as the inner part of chains. */
export const matches = (plan: Plan, pin: number): Fragment => {
  const name = createNames()
  if (plan.driver?.sources === undefined)
    return q`SELECT d.rid AS rid FROM ix_res d WHERE d.type = ${plan.type} AND d.rid <= ${pin}${checks(plan, 'd', name)}`
  return q`SELECT DISTINCT d.rid AS rid FROM (${unite(plan.driver.sources)}) d WHERE +d.rid <= ${pin}${checks(plan, 'd', name)}`
}
