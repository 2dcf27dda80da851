/**
 * The order in which every transaction locks existing resources on PostgreSQL. Transactions that lock the same rows in
 * different orders deadlock.
 */

/** `Type/id` of a resource, by which locks are ordered. */
export const lockKeyOf = ({ type, id }: { readonly type: string; readonly id: string }): string => `${type}/${id}`

/** Compares two keys by code units: the order must not depend on the locale of a process. */
export const byLockKey = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)
