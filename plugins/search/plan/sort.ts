/** SQL for `_sort`: conditions for matches after or before another one, the order, and the sort values. */
import type { SortKey } from '../query/sort-order.ts'
import { and, type Fragment, join, or, q, raw } from '../sql/fragment.ts'
import type { Direction } from './plan.ts'

/** Condition for matches after the last one of a page (`older`), or before the first one (`newer`). */
export const beyond = (
  keys: readonly SortKey[],
  values: readonly (string | number)[],
  rid: number,
  direction: Direction,
): Fragment => {
  const isOnward = direction === 'older'
  const columns = keys.map((_key, at) => raw(`k.s${at}`))
  const cases = keys.map((key, at) =>
    and([
      ...columns.slice(0, at).map((column, before) => q`${column} = ${values[before] as string}`),
      q`${columns[at] as Fragment} ${raw(key.descending === isOnward ? '<' : '>')} ${values[at] as string}`,
    ]),
  )
  const same = columns.map((column, at) => q`${column} = ${values[at] as string}`)
  return or([...cases, and([...same, q`k.rid ${raw(isOnward ? '<' : '>')} ${rid}`])].map((one) => q`(${one})`))
}

/** The requested order (`older`), or the reverse. */
export const orderBy = (keys: readonly SortKey[], direction: Direction): Fragment => {
  const isOnward = direction === 'older'
  const parts = keys.map(({ descending }, at) => `k.s${at} ${descending === isOnward ? 'DESC' : 'ASC'}`)
  return raw([...parts, `k.rid ${isOnward ? 'DESC' : 'ASC'}`].join(', '))
}

export const selected = (keys: readonly SortKey[], d: string): Fragment =>
  join(
    keys.map(({ value }, at) => (value === undefined ? raw('') : q`, ${value(d)} AS ${raw(`s${at}`)}`)),
    '',
  )
