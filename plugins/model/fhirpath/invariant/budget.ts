/** A bound on the work of evaluating expressions: some take the square of what a resource repeats. */

export interface Work {
  /** Items that may still be looked at. */
  left: number
}

/** About half a second. */
export const MOST_WORK = 10_000_000

/** The work is used up. */
export class TooCostly extends Error {}

/** Comparing objects takes about as long as looking at this many plain items. */
const OBJECT_COST = 30

/** For items that are compared with one another. */
export const chargeCompared = (work: Work, items: readonly unknown[]): void =>
  charge(work, typeof items[0] === 'object' ? items.length * OBJECT_COST : items.length)

export const charge = (work: Work, items: number): void => {
  work.left -= items
  if (work.left < 0) throw new TooCostly()
}
