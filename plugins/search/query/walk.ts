/** An index whose order is the order asked for. */
import type { Fragment } from '../sql/fragment.ts'

/** An index to go along in the order asked for, as `w`: a page then costs its own rows and what the checks refuse. */
export interface Walk {
  readonly table: string
  readonly column: string
  /** Parts that are each in order; merged when there are several. */
  readonly parts: readonly Fragment[]
  /** Lets one row of each resource through: the one that counts. */
  readonly once: Fragment
  /** Stands for the value of a resource that has none: behind it there is nothing to go along. */
  readonly nothing: number
}
