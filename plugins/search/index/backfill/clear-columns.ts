/**
 * Takes out what columns hold, before they are filled anew or because no parameter uses them any more: in small
 * transactions, each of which looks first whether the column is still to be cleared.
 */
import type { Transaction } from '../../../database/service.ts'
import { COLUMN_STEP } from '../../definition/column-codes.ts'
import { type ColumnRow, MASK_BITS } from '../columns.ts'
import { CONTAINED_OFFSET } from '../contained/key-space.ts'
import {
  clearBits,
  dropColumn,
  lockColumn,
  MAX_REMOVED,
  nextGeneration,
  readBatchEnd,
  removals,
  removeTexts,
  setBackfilledTo,
} from '../tables.ts'
import type { BackfillParts } from './backfill-parts.ts'

const CLEAR_MS = 4 // of work on the main thread, then others get their turn
const EVERY_BIT = 2 ** MASK_BITS - 1

interface Cleared {
  readonly column: ColumnRow
  readonly state: 'left' | 'clean' | 'changed'
  /** Where taking out bits goes on. */
  readonly next?: Place
}

/** Among the resources of a type, then among those that others contain. */
interface Place {
  readonly apart: number
  readonly from: number
}

export const createColumnClearing = ({ database, registry, rows, types, clock, gate }: BackfillParts) => {
  // How far the bits of a column have been taken out, in this process; another one begins again.
  const cleared = new Map<number, Place>()

  /** Rows of a range of columns, so many at most. True when some are left. */
  const removeRows = async (transaction: Transaction, from: number): Promise<boolean> => {
    for (const { count, some, all } of removals) {
      const range = [from, from + COLUMN_STEP]
      const { n } = (await transaction.get<{ n: number }>(count, range)) as { n: number }
      const many = Number(n) > MAX_REMOVED
      if (Number(n) > 0) await transaction.run(many ? some : all, range)
      if (many) return true
    }
    return false
  }
  /** A bit in a stretch of the resources of a type: where the next one begins, undefined after the last. */
  const removeBits = async (
    transaction: Transaction,
    type: number,
    bit: number,
    from: number,
  ): Promise<number | undefined> => {
    const stride = await transaction.get<{ rid: number }>(readBatchEnd, [type, from])
    const mask = 2 ** (bit % MASK_BITS)
    const statement = clearBits[Math.floor(bit / MASK_BITS)] as (typeof clearBits)[number]
    await transaction.run(statement, [EVERY_BIT - mask, type, from, stride?.rid ?? Number.MAX_SAFE_INTEGER, mask])
    return stride?.rid
  }
  const clear = async (transaction: Transaction, column: ColumnRow): Promise<Cleared> => {
    const { code } = column
    const now = await transaction.get<ColumnRow>(lockColumn, [code])
    await gate.compare(transaction)
    // Another server was faster, or a parameter uses the column again.
    if (now?.reach !== column.reach) return { column, state: 'changed' }
    for (const apart of [0, CONTAINED_OFFSET])
      if (await removeRows(transaction, code - apart)) return { column, state: 'left' }
    const type = types.code(column.type)
    if (column.bit < 0 || type === undefined) return { column, state: 'clean' }
    let at = cleared.get(code) ?? { apart: 0, from: 0 }
    for (;;) {
      const next = await removeBits(transaction, type - at.apart, column.bit, at.from)
      if (next !== undefined) return { column, state: 'left', next: { ...at, from: next } }
      if (at.apart === CONTAINED_OFFSET) return { column, state: 'clean' }
      at = { apart: CONTAINED_OFFSET, from: 0 }
    }
  }
  /** After COMMIT: a transaction that is undone has taken out nothing. */
  const noteCleared = ({ column: { code }, state, next }: Cleared): void => {
    if (state === 'left' && next !== undefined) cleared.set(code, next)
    if (state !== 'left') cleared.delete(code)
  }
  /** One small transaction towards columns that can be filled. */
  const clean = async (columns: readonly ColumnRow[]): Promise<void> => {
    const done = await database.transact(async (transaction) => {
      const results: Cleared[] = []
      const started = clock.monotonic()
      for (const column of columns) {
        const result = await clear(transaction, column)
        results.push(result)
        if (result.state === 'left') break
        if (result.state === 'clean') await transaction.run(setBackfilledTo, [0, column.code])
        if (clock.monotonic() - started > CLEAR_MS) break
      }
      if (results.some(({ state }) => state === 'clean')) await transaction.run(nextGeneration, [])
      return results
    })
    for (const result of done) {
      noteCleared(result)
      if (result.state === 'clean') registry.note({ ...result.column, reach: 0, indexed: 0, expected: 0 })
    }
    if (done.length === columns.length || done.some(({ state }) => state === 'changed')) await registry.refresh()
  }

  return {
    clean,
    /** One small transaction towards the removal of a column nobody uses. False when nothing is left of it. */
    async remove(column: ColumnRow): Promise<boolean> {
      const result = await database.transact(async (transaction) => {
        const cleaned = await clear(transaction, column)
        if (cleaned.state === 'clean') {
          for (const from of [column.code, column.code - CONTAINED_OFFSET])
            await transaction.run(removeTexts, [from, from + COLUMN_STEP])
          await transaction.run(dropColumn, [column.code])
          await transaction.run(nextGeneration, [])
        }
        return cleaned
      })
      noteCleared(result)
      if (result.state === 'left') return true
      rows.forget()
      await registry.refresh()
      return false
    },
  }
}
