/** Turns planned clauses into SQL that selects the resource keys of all matches. */

import { eachRow } from '../../database/service.ts'
import { and, type Fragment, join, q, raw, unionAll } from '../sql/fragment.ts'
import type { KeySource, SearchClause } from './clause.ts'
import type { Plan } from './plan-contract.ts'

export const createAliases = (): (() => string) => {
  let count = 0
  return () => {
    count += 1
    return `a${count}`
  }
}

/** The rows of all sources. */
export const unite = (sources: readonly KeySource[]): Fragment => unionAll(sources.map(({ keysSql }) => keysSql))

/** `AND` and the check of each clause but the driving one. A long statement can be cancelled between two candidates. */
export const checks = (
  { conditions, drivingClause }: Pick<Plan, 'conditions' | 'drivingClause'>,
  d: string,
  name: () => string,
): Fragment =>
  join(
    [
      raw(` ${eachRow(`${d}.rid`)}`),
      ...conditions.filter((one) => one !== drivingClause).map((one) => q` AND ${one.checkSql(d, name)}`),
    ],
    '',
  )

/** Selects every match once, unsorted: for sorting, counting, and inside chains. */
export const matchesSql = (plan: Plan, pin: number): Fragment => {
  const name = createAliases()
  if (plan.drivingClause?.sources === undefined)
    return q`SELECT d.rid AS rid FROM ix_res d WHERE d.type = ${plan.type} AND d.rid <= ${pin}${checks(plan, 'd', name)}`
  return q`SELECT DISTINCT d.rid AS rid FROM (${unite(plan.drivingClause.sources)}) d WHERE +d.rid <= ${pin}${checks(plan, 'd', name)}`
}

/** The conditions on resources of one type. */
export interface TypeConditions {
  /** Code of the type. */
  readonly type: number
  /** All of these must match. */
  readonly conditions: readonly SearchClause[]
}

/** True for a row of `alias` whose type is in the list and which matches the conditions of that type. */
export const meets = (alias: string, types: readonly TypeConditions[]): Fragment => {
  const name = createAliases()
  const branches = types.map(
    ({ type, conditions }) => q`WHEN ${type} THEN ${and(conditions.map((one) => one.checkSql(alias, name)))}`,
  )
  return q`CASE ${raw(alias)}.type ${join(branches, ' ')} ELSE 1 = 0 END`
}
