/** The records of a source that are done, as the database knew when the import went on. */
import type { RangeRow } from './tables.ts'

export interface DoneRecords {
  has(number: number): boolean
  readonly resources: number
  readonly failed: number
}

/** Records are asked for in ascending order. `rows` are sorted by `first` and do not overlap. */
export const createDoneRecords = (rows: readonly RangeRow[]): DoneRecords => {
  const ranges = rows.map(({ first, last }) => ({ first: Number(first), last: Number(last) }))
  const sum = (of: (row: RangeRow) => number | string): number => rows.reduce((all, row) => all + Number(of(row)), 0)
  let at = 0
  return {
    has(number) {
      while (at < ranges.length && ranges[at]!.last < number) at += 1
      return at < ranges.length && ranges[at]!.first <= number
    },
    resources: sum(({ resources }) => resources),
    failed: sum(({ failed }) => failed),
  }
}
