/**
 * What is indexed, in the database: each column has a number and a bit that stay with it as long as it has rows. A
 * column that no parameter uses any more is put aside and removed; one that comes back before that is filled anew.
 */
import type { Transaction } from '../../database/service.ts'
import { COLUMN_STEP } from '../definition/column-codes.ts'
import type { StoredColumn } from '../definition/stored-definitions.ts'
import { nextLayout } from './layout.ts'
import {
  DIRTY,
  GONE,
  insertColumn,
  nextGeneration,
  readIndexColumns,
  readLastColumn,
  setBackfilledTo,
  writeLastColumn,
} from './tables.ts'

/** Bits of one mask: what six bytes hold. */
export const MASK_BITS = 47
export const MASKS = 3

export interface ColumnRow {
  readonly code: number
  readonly type: string
  readonly kind: string
  readonly expression: string
  /** -1 when there was no room for one. */
  readonly bit: number
  readonly ready: number
  /** Resources up to this rid are in it; DIRTY, GONE. */
  readonly reach: number
  /** Resources that were gone through, of how many. */
  readonly indexed: number
  readonly expected: number
}

type Key = Pick<ColumnRow, 'type' | 'kind' | 'expression'>

export const columnKeyOf = ({ type, kind, expression }: Key): string => `${type} ${kind} ${expression}`

/** Lowest bit of a type that no column has. */
const freeBit = (taken: ReadonlySet<number>): number => {
  let bit = 0
  while (taken.has(bit)) bit += 1
  return bit < MASK_BITS * MASKS ? bit : -1
}

/** True when the rows in the database are those of the model already. */
export const isSettled = (columns: readonly StoredColumn[], held: readonly ColumnRow[]): boolean => {
  const wanted = new Set(columns.map(columnKeyOf))
  const known = new Set(held.map(columnKeyOf))
  return (
    columns.every((column) => known.has(columnKeyOf(column))) &&
    held.every((row) => wanted.has(columnKeyOf(row)) === (row.reach !== GONE))
  )
}

/**
 * Brings the rows into line with the columns of a model: new ones are added, those that came back are taken up again,
 * the others are put aside. `isEmpty` tells of types that have no resource, whose columns are complete at once.
 */
export const settleColumns = async (
  transaction: Transaction,
  columns: readonly StoredColumn[],
  isEmpty: (type: string) => boolean = () => false,
): Promise<void> => {
  const held = await transaction.all<ColumnRow>(readIndexColumns, [])
  if (isSettled(columns, held)) return
  const known = new Map(held.map((row) => [columnKeyOf(row), row]))
  const wanted = new Set(columns.map(columnKeyOf))
  const bits = new Map<string, Set<number>>()
  const bitsOf = (type: string): Set<number> => {
    const taken = bits.get(type) ?? new Set()
    bits.set(type, taken)
    return taken
  }
  let last = (await transaction.get<{ code: number }>(readLastColumn, []))?.code ?? 0
  for (const row of held) {
    bitsOf(row.type).add(row.bit)
    last = Math.max(last, row.code)
    if (wanted.has(columnKeyOf(row))) {
      if (row.reach === GONE) await transaction.run(setBackfilledTo, [DIRTY, row.code])
    } else if (row.reach !== GONE) await transaction.run(setBackfilledTo, [GONE, row.code])
  }
  for (const column of columns) {
    if (known.has(columnKeyOf(column))) continue
    const { type, kind, expression } = column
    last += COLUMN_STEP
    const bit = freeBit(bitsOf(type))
    bitsOf(type).add(bit)
    await transaction.run(insertColumn, [last, type, kind, expression, bit, isEmpty(type) ? 1 : 0, 0, 0, 0])
  }
  await transaction.run(writeLastColumn, [String(last)])
  await transaction.run(nextLayout, [])
  await transaction.run(nextGeneration, [])
}
