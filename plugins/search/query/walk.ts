/** Scans of an index that is in the order of a sort. */
import type { Fragment } from '../sql/fragment.ts'

/** A sort value. */
export type SortValue = string | number

/** An index to scan; its rows have the alias `w`. */
export interface IndexScan {
  readonly table: string
  /** Expressions in `w` that make the order together; the index begins with the first. All ascend, or all descend. */
  readonly order: readonly string[]
  /** Those of the expressions that are the values of the first sort keys. */
  readonly keys: readonly string[]
  /** Turns values of `keys` into values of `order`. */
  readonly at: (keys: readonly SortValue[]) => readonly SortValue[]
  /** Conditions, each for a part of the index that is in order. Several parts are merged. `type`: code of the type. */
  readonly parts: (type: number) => readonly Fragment[]
  /** A condition that keeps one row of each resource: the one that it sorts by. */
  readonly once: Fragment
  /**
   * A condition for resources `d` without a row. Undefined where each resource has one. Such resources come last, the
   * newest first.
   */
  readonly lacks?: (d: string) => Fragment
  /** Stands for the sort value of a resource that has none. */
  readonly nothing: SortValue
}
