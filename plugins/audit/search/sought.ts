/** What a condition says of the rows it holds for, so that blocks without such rows are passed over. */
import type { Block } from '../blocks/block.ts'
import { mayHold } from '../blocks/filter.ts'

export interface Sought {
  /** Milliseconds, from the first to before the second. */
  readonly time?: readonly [number, number]
  /** Numbers of rows, both included. */
  readonly rows?: readonly [number, number]
  /** Each row has one of these, at least. */
  readonly keys?: readonly number[]
}

type Range = readonly [number, number]

const around = (ranges: readonly (Range | undefined)[]): Range | undefined =>
  ranges.every((range) => range !== undefined)
    ? [Math.min(...ranges.map(([from]) => from)), Math.max(...ranges.map(([, to]) => to))]
    : undefined

/** Of rows for which one of them holds. */
export const soughtByAny = (all: readonly Sought[]): Sought => {
  const time = around(all.map((one) => one.time))
  const rows = around(all.map((one) => one.rows))
  const keys = all.every((one) => one.keys !== undefined) ? all.flatMap((one) => one.keys ?? []) : undefined
  return { ...(time && { time }), ...(rows && { rows }), ...(keys && { keys }) }
}

/** Of rows for which all of them hold. */
export interface Wanted {
  readonly time: Range
  readonly rows: Range
  readonly keys: readonly (readonly number[])[]
  /** False: no block can be passed over. */
  readonly isSelective: boolean
}

const MOST = Number.MAX_SAFE_INTEGER

export const soughtByAll = (all: readonly Sought[]): Wanted => {
  const within = (ranges: readonly (Range | undefined)[]): Range => {
    const given = ranges.filter((range) => range !== undefined)
    return [Math.max(-MOST, ...given.map(([from]) => from)), Math.min(MOST, ...given.map(([, to]) => to))]
  }
  return {
    time: within(all.map(({ time }) => time)),
    rows: within(all.map(({ rows }) => rows)),
    keys: all.flatMap(({ keys }) => (keys === undefined ? [] : [keys])),
    isSelective: all.some(({ time, keys }) => time !== undefined || keys !== undefined),
  }
}

/** False only when no row of the block can be one. `filter` is null when the time says so already. */
export const mayBeIn = ({ filter }: { readonly filter: Block['filter'] | null }, { keys }: Wanted): boolean =>
  filter !== null && keys.every((anyOf) => anyOf.some((key) => mayHold(filter, key)))
