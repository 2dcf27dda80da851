/** A bound on the work of evaluating expressions: some take the square of what a resource repeats. */

export interface EvaluationBudget {
  /** Items that may still be looked at. */
  left: number
}

/** About half a second. */
export const MAX_COST = 10_000_000

/** The work is used up. */
export class BudgetExceeded extends Error {}

/** Comparing objects takes about as long as looking at this many plain items. */
const OBJECT_COST = 30

/** For items that are compared with one another. */
export const chargeComparison = (work: EvaluationBudget, items: readonly unknown[]): void =>
  charge(work, typeof items[0] === 'object' ? items.length * OBJECT_COST : items.length)

export const charge = (work: EvaluationBudget, items: number): void => {
  work.left -= items
  if (work.left < 0) throw new BudgetExceeded()
}
