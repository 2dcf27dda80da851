/**
 * Statements that fail where the rows that a transaction is based on have changed. They have no result, so they cost no
 * round trip; `transact` rejects with Outdated, and its caller reads the rows again.
 */
import { isServerError } from '../../kernel/index.ts'
import { Outdated } from './errors.ts'

/** Begins the text that PostgreSQL cannot read as a number and repeats in its error. */
export const OUTDATED_MARK = 'outdated since'

/** An expression for a statement on PostgreSQL that fails where `condition` is true. `value` appears in its log. */
export const outdatedWhere = (condition: string, value: string): string =>
  `CASE WHEN ${condition} THEN CAST(concat('${OUTDATED_MARK} ', ${value}) AS integer) ELSE 0 END`

export const isOutdated = (error: unknown): boolean => isServerError(error) && error.key === Outdated.key
