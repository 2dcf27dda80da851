/** Sort values of a version in memory, from its index rows: what the statements of sort-order.ts read from the index. */
import { DATE_COLUMNS, type IndexEntries, QUANTITY, QUANTITY_COLUMNS, STRING_COLUMNS } from '../index/index-entries.ts'

type Value = string | number
type SortValue = (subject: { readonly rows: IndexEntries }) => Value

/** The least row ascending, the greatest descending, by the values that `read` gives, the first before the second. */
const best = (
  values: readonly (Value | null)[],
  width: number,
  codes: readonly number[],
  descending: boolean,
  read: (at: number) => readonly Value[],
): readonly Value[] | undefined => {
  let found: readonly Value[] | undefined
  for (let at = 0; at < values.length; at += width) {
    if (!codes.includes(values[at] as number)) continue
    const row = read(at)
    const n = found === undefined ? -1 : row.findIndex((value, place) => value !== found?.[place])
    if (found === undefined || (n !== -1 && (row[n] as Value) < (found[n] as Value) !== descending)) found = row
  }
  return found
}

const numbers = (rows: IndexEntries, codes: readonly number[], descending: boolean) =>
  best(rows.quantity, QUANTITY_COLUMNS, codes, descending, (at) => [
    rows.quantity[at + QUANTITY.low] as number,
    rows.quantity[at + QUANTITY.lowRest] as string,
  ])

export const sortValuesOf = {
  date:
    (codes: readonly number[], descending: boolean, nothing: number): SortValue =>
    ({ rows }) =>
      best(rows.date, DATE_COLUMNS, codes, descending, (at) => [rows.date[at + 1] as number])?.[0] ?? nothing,
  low:
    (codes: readonly number[], descending: boolean, nothing: number): SortValue =>
    ({ rows }) =>
      numbers(rows, codes, descending)?.[0] ?? nothing,
  lowRest:
    (codes: readonly number[], descending: boolean): SortValue =>
    ({ rows }) =>
      numbers(rows, codes, descending)?.[1] ?? '',
  text:
    (codes: readonly number[], descending: boolean, nothing: string): SortValue =>
    ({ rows }) =>
      best(rows.string, STRING_COLUMNS, codes, descending, (at) => [
        (rows.string[at + 3] ?? rows.string[at + 1]) as string,
      ])?.[0] ?? nothing,
}
