/**
 * Statements that fail where what a transaction was made from has changed. They have no answer, so they cost no round
 * trip; `transact` rejects with Outdated, and whoever called it looks at what is there now.
 */
import { isServerError } from '../../kernel/index.ts'
import { Outdated } from './errors.ts'

/** Of the text that PostgreSQL cannot read as a number, and tells in its error. */
export const OUTDATED_MARK = 'outdated since'

/** An expression for a statement on PostgreSQL that fails where `condition` is true. `value` is told in its log. */
export const outdatedWhere = (condition: string, value: string): string =>
  `CASE WHEN ${condition} THEN CAST(concat('${OUTDATED_MARK} ', ${value}) AS integer) ELSE 0 END`

export const isOutdated = (error: unknown): boolean => isServerError(error) && error.key === Outdated.key
