/**
 * Removes the rows of columns: before they are filled again, or because no parameter uses them any more. Works in
 * small transactions; each first checks that the column is still to be cleared.
 */
import type { Transaction } from '../../../database/service.ts'
import { COLUMN_STEP } from '../../definition/column-codes.ts'
import { type ColumnRow, MASK_BITS } from '../columns.ts'
import { CONTAINED_OFFSET } from '../contained/key-space.ts'
import { countGeneration } from '../count-generation.ts'
import {
  clearBits,
  dropColumn,
  lockColumn,
  MAX_REMOVED,
  readBatchEnd,
  removals,
  removeTexts,
  setBackfilledTo,
} from '../tables.ts'
import type { BackfillParts } from './backfill-parts.ts'

const CLEAR_MS = 4 // milliseconds on the main thread before other work may run
const EVERY_BIT = 2 ** MASK_BITS - 1

interface Cleared {
  readonly column: ColumnRow
  readonly state: 'left' | 'clean' | 'changed'
  /** Where the removal of bits resumes. */
  readonly next?: Place
}

/**
 * Progress in the masks: `apart` is 0 for resources of the type and CONTAINED_OFFSET for contained ones; `from` is a
 * resource key.
 */
interface Place {
  readonly apart: number
  readonly from: number
}

export const createColumnClearing = ({ database, registry, rows, types, clock, gate }: BackfillParts) => {
  // How far this process has removed the bits of a column. After a restart the removal begins again.
  const cleared = new Map<number, Place>()

  /**
   * Removes rows in one range of column codes, at most MAX_REMOVED of each table. Resolves to true when some may be
   * left.
   */
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
  /**
   * Removes a bit from the masks of the next resources of a type. Returns the resource key to continue from,
   * undefined after the last.
   */
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
    // Another server has cleared the column meanwhile, or a parameter uses it again.
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
  /** Called after COMMIT, because a transaction that was rolled back has removed nothing. */
  const noteCleared = ({ column: { code }, state, next }: Cleared): void => {
    if (state === 'left' && next !== undefined) cleared.set(code, next)
    if (state !== 'left') cleared.delete(code)
  }
  /** Runs one small transaction that clears columns, so that they can be filled. */
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
      if (results.some(({ state }) => state === 'clean')) await countGeneration(transaction)
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
    /** Runs one small transaction that removes rows of an unused column. Resolves to false when the column is gone. */
    async remove(column: ColumnRow): Promise<boolean> {
      const result = await database.transact(async (transaction) => {
        const cleaned = await clear(transaction, column)
        if (cleaned.state === 'clean') {
          for (const from of [column.code, column.code - CONTAINED_OFFSET])
            await transaction.run(removeTexts, [from, from + COLUMN_STEP])
          await transaction.run(dropColumn, [column.code])
          await countGeneration(transaction)
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
