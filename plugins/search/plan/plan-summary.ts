/** What a plan says of a search without a value of it: for a plugin that traces requests. */

import type { SearchClause } from '../query/clause.ts'
import { createAliases } from '../query/clause-sql.ts'
import type { Plan } from '../query/plan-contract.ts'

export interface ClauseSummary {
  /** The name of the parameter as it was sent, with modifiers and links: `subject:Patient.name`. */
  readonly parameter: string
  /** Tables of the index that it reads. */
  readonly index: readonly string[]
}

export interface PlanSummary {
  readonly type: string
  readonly clauses: readonly ClauseSummary[]
  /** The clause the search starts from; undefined where it goes through the resources of the type. */
  readonly start: string | undefined
  /** Rows of that clause. */
  readonly rows: number
  /** True where there may be many more. */
  readonly isEstimate: boolean
  readonly isOrdered: boolean
  /** Codes of `_sort`. */
  readonly sort: readonly string[]
}

/** Receives the plans of a search, one for each type. It must not throw, and waits for nothing. */
export type WatchPlans = (plans: readonly PlanSummary[]) => void

/** Everything behind the name may be a value. A clause of a restriction, and one that begins otherwise, has no name. */
const nameOf = ({ text }: SearchClause): string => /^([\w:.-]+)(=|$)/.exec(text)?.[1] ?? '(condition)'

/** Tables of the index that a clause reads. */
export const tablesOf = ({ sources, checkSql }: SearchClause): readonly string[] => {
  const text =
    sources === undefined ? checkSql('d', createAliases()).text : sources.map(({ keysSql }) => keysSql.text).join(' ')
  return [...new Set(text.match(/\b(?:ix_[a-z]+|resource)\b/g) ?? [])]
}

export const summarizePlan = (
  { type, conditions, drivingClause, size, isEstimate, isOrdered }: Plan,
  typeName: (code: number) => string,
  sort: readonly string[],
): PlanSummary => ({
  type: typeName(type),
  clauses: conditions.map((one) => ({ parameter: nameOf(one), index: tablesOf(one) })),
  start: drivingClause === undefined ? undefined : nameOf(drivingClause),
  rows: size,
  isEstimate,
  isOrdered,
  sort,
})
