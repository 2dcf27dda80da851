/** What a clause implies for the rows that match it, so that blocks without such rows can be skipped. */
import type { AuditBlock } from '../blocks/block.ts'
import { mayContain } from '../blocks/bloom-filter.ts'

export interface BlockQuery {
  /** Milliseconds: from the first, inclusive, to the second, exclusive. */
  readonly time?: readonly [number, number]
  /** Numbers of rows, both included. */
  readonly rows?: readonly [number, number]
  /** Each row has at least one of these keys. */
  readonly keys?: readonly number[]
}

type NumberRange = readonly [number, number]

const around = (ranges: readonly (NumberRange | undefined)[]): NumberRange | undefined =>
  ranges.every((range) => range !== undefined)
    ? [Math.min(...ranges.map(([from]) => from)), Math.max(...ranges.map(([, to]) => to))]
    : undefined

/** Combines clauses of which at least one must match. */
export const anyBlockQuery = (all: readonly BlockQuery[]): BlockQuery => {
  const time = around(all.map((one) => one.time))
  const rows = around(all.map((one) => one.rows))
  const keys = all.every((one) => one.keys !== undefined) ? all.flatMap((one) => one.keys ?? []) : undefined
  return { ...(time && { time }), ...(rows && { rows }), ...(keys && { keys }) }
}

/** What a row must have to match all clauses. */
export interface WantedKeys {
  readonly time: NumberRange
  readonly rows: NumberRange
  readonly keys: readonly (readonly number[])[]
  /** False when no block can be skipped. */
  readonly isSelective: boolean
}

const MAX_VALUE = Number.MAX_SAFE_INTEGER

export const allBlockQuery = (all: readonly BlockQuery[]): WantedKeys => {
  const within = (ranges: readonly (NumberRange | undefined)[]): NumberRange => {
    const given = ranges.filter((range) => range !== undefined)
    return [Math.max(-MAX_VALUE, ...given.map(([from]) => from)), Math.min(MAX_VALUE, ...given.map(([, to]) => to))]
  }
  return {
    time: within(all.map(({ time }) => time)),
    rows: within(all.map(({ rows }) => rows)),
    keys: all.flatMap(({ keys }) => (keys === undefined ? [] : [keys])),
    isSelective: all.some(({ time, keys }) => time !== undefined || keys !== undefined),
  }
}

/** False only when no row of the block can match. `filter` is null when the time of the block already excludes it. */
export const mayMatch = ({ filter }: { readonly filter: AuditBlock['filter'] | null }, { keys }: WantedKeys): boolean =>
  filter !== null && keys.every((anyOf) => anyOf.some((key) => mayContain(filter, key)))
