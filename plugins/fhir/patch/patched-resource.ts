/** A resource while it is patched: paths compare values, so they are evaluated on a copy with plain numbers. */
import { copyExact } from '../../model/service.ts'
import type { Exact } from './path-operations.ts'

export type Keys = readonly (string | number)[]

export interface PatchedResource {
  /** The result of parseExact. */
  readonly exact: Exact
  /** A copy with plain numbers. */
  readonly plain: Exact
  /** Objects and lists of both that something was removed from. */
  readonly emptied: Set<unknown>
}

/** Makes a change in the resource and in its copy. `toOwn` copies content for the one that is being changed. */
export const changeBoth = (
  { exact, plain }: PatchedResource,
  work: (root: Exact, toOwn: (content: unknown) => unknown) => void,
): void => {
  work(plain, (content) => JSON.parse(JSON.stringify(content)))
  work(exact, copyExact)
}

/** The value at the keys. */
export const at = (root: Exact, keys: Keys): Exact =>
  keys.reduce<unknown>((holder, key) => (holder as Exact)[key], root) as Exact

/** Splices a list of values, and the parallel list (`_name`) with the ids and extensions of primitives. */
export const spliceList = (
  holder: Exact,
  key: string,
  start: number,
  count: number,
  items: readonly unknown[],
): void => {
  const list = (holder[key] ?? []) as unknown[]
  const beside = holder[`_${key}`]
  if (Array.isArray(beside)) {
    while (beside.length < list.length) beside.push(null)
    beside.splice(start, count, ...items.map(() => null))
    if (beside.every((one) => one === null)) delete holder[`_${key}`]
  }
  list.splice(start, count, ...items)
  holder[key] = list
}
