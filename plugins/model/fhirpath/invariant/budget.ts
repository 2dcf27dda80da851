/** Bounds the work of evaluating expressions: the time of some grows with the square of the number of repeated elements. */

export interface EvaluationBudget {
  /** Number of items that may still be processed. */
  left: number
}

/** Items per resource; processing this many takes about half a second. */
export const MAX_COST = 10_000_000

/** Thrown when the budget is used up. */
export class BudgetExceeded extends Error {}

/** Comparing an object takes about as long as processing this many primitive items. */
const OBJECT_COST = 30

/** Charges the budget for items that are compared with one another. Throws BudgetExceeded. */
export const chargeComparison = (work: EvaluationBudget, items: readonly unknown[]): void =>
  charge(work, typeof items[0] === 'object' ? items.length * OBJECT_COST : items.length)

export const charge = (work: EvaluationBudget, items: number): void => {
  work.left -= items
  if (work.left < 0) throw new BudgetExceeded()
}
