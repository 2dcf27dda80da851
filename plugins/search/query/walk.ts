/** An index whose order is the order asked for. */
import type { Fragment } from '../sql/fragment.ts'

/** A value of the order asked for. */
export type SortValue = string | number

/** An index to go along, as `w`. */
export interface IndexScan {
  readonly table: string
  /** Expressions in `w` that make the order together; the index begins with the first. All ascend, or all descend. */
  readonly order: readonly string[]
  /** Of these, the ones that are the values of the first keys of the sort. */
  readonly keys: readonly string[]
  /** Values of `order` where the keys have these values. */
  readonly at: (keys: readonly SortValue[]) => readonly SortValue[]
  /** Parts that are each in order, for the resources of a type; merged when there are several. */
  readonly parts: (type: number) => readonly Fragment[]
  /** Lets one row of each resource through: the one that counts. */
  readonly once: Fragment
  /** Resource `d` has no row; undefined where every resource has one. Such resources come last, the newest first. */
  readonly lacks?: (d: string) => Fragment
  /** Stands for the first value of a resource that has none. */
  readonly nothing: SortValue
}
