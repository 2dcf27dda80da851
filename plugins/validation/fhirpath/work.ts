/** A bound on the work of evaluating expressions: some take the square of what a resource repeats. */

export interface Work {
  /** Items that may still be looked at. */
  left: number
}

/** About a quarter of a second. The largest examples of R4 (35 MB) take a third of it. */
export const MOST_WORK = 10_000_000

/** The work is used up. */
export class TooCostly extends Error {}

export const charge = (work: Work, items: number): void => {
  work.left -= items
  if (work.left < 0) throw new TooCostly()
}
