/**
 * The index columns as rows of the database. Each has a code and a bit, which it keeps as long as it has index rows.
 * A column that no parameter uses is marked GONE and removed later; one that is used again before that is cleared and
 * filled again.
 */
import type { Transaction } from '../../database/service.ts'
import { COLUMN_STEP } from '../definition/column-codes.ts'
import type { StoredColumn } from '../definition/stored-definitions.ts'
import { countGeneration } from './count-generation.ts'
import { nextLayout } from './layout.ts'
import {
  DIRTY,
  GONE,
  insertColumn,
  readIndexColumns,
  readLastColumn,
  setBackfilledTo,
  writeLastColumn,
} from './tables.ts'

/** Bits of one mask: SQLite stores them in six bytes. */
export const MASK_BITS = 47
export const MASKS = 3

export interface ColumnRow {
  readonly code: number
  readonly type: string
  readonly kind: string
  readonly expression: string
  /** -1 where all bits of the type were taken. */
  readonly bit: number
  readonly ready: number
  /** Resources up to this resource key are indexed; or DIRTY, or GONE. */
  readonly reach: number
  /** Resources that the backfill has read, and how many it expects. */
  readonly indexed: number
  readonly expected: number
}

type Key = Pick<ColumnRow, 'type' | 'kind' | 'expression'>

export const columnKeyOf = ({ type, kind, expression }: Key): string => `${type} ${kind} ${expression}`

/** The lowest bit of a type that no column uses, or -1. */
const freeBit = (taken: ReadonlySet<number>): number => {
  let bit = 0
  while (taken.has(bit)) bit += 1
  return bit < MASK_BITS * MASKS ? bit : -1
}

/** True when the rows in the database match the columns of the model. */
export const isSettled = (columns: readonly StoredColumn[], held: readonly ColumnRow[]): boolean => {
  const wanted = new Set(columns.map(columnKeyOf))
  const known = new Set(held.map(columnKeyOf))
  return (
    columns.every((column) => known.has(columnKeyOf(column))) &&
    held.every((row) => wanted.has(columnKeyOf(row)) === (row.reach !== GONE))
  )
}

/**
 * Brings the table of columns in line with the columns of the current search parameters: adds new ones, marks those that are not
 * used any more as GONE, and removes this mark where one is used again. A new column is complete at once where `isEmpty` returns
 * true, because its type has no resources.
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
  await countGeneration(transaction)
}
