/**
 * Puts resources into columns that were not there when they were stored: after a package brought search parameters, or
 * a client posted one. Goes by rid in small transactions that note how far they came, so that an interrupted one goes
 * on, and two servers take turns.
 */
import type { Clock } from '../../../kernel/index.ts'
import { type Database, sql, type Transaction } from '../../database/service.ts'
import { unpackBody } from '../store/body.ts'
import { GZIP } from '../store/tables.ts'
import type { TypeCodes } from '../store/type-codes.ts'
import { type ColumnRow, MASK_BITS } from './columns.ts'
import { COLUMN_STEP } from './convert/columns.ts'
import type { Extract } from './extractor.ts'
import type { IndexRows } from './index-rows.ts'
import type { Registry } from './registry.ts'
import { Rows } from './rows.ts'
import {
  advance,
  clearBits,
  countResources,
  DIRTY,
  dropColumn,
  lockColumn,
  lockUnready,
  MOST_REMOVED,
  nextGeneration,
  readStride,
  removals,
  removeTexts,
  setExpected,
  setReach,
  setReady,
} from './tables.ts'

const BATCH = 100 // resources of one transaction, at most
const BATCH_MS = 4 // of work on the main thread, then others get their turn
const EVERY_BIT = 2 ** MASK_BITS - 1

const BATCH_ROWS =
  'SELECT rid, id, flags, body FROM resource WHERE type = ? AND rid > ? AND rid <= ? AND (flags & 1) = 0 ORDER BY rid LIMIT ?'
// On PostgreSQL a change of the same resource waits for the few milliseconds of the batch: else rows of the version
// that was read could be added after those of the version that replaced it.
const readBatch = sql('search.backfill-batch', { sqlite: BATCH_ROWS, postgres: `${BATCH_ROWS} FOR UPDATE` })

interface BatchRow {
  readonly rid: number
  readonly id: string
  readonly flags: number
  readonly body: Buffer
}

export interface BackfillParts {
  readonly database: Database
  readonly registry: Registry
  readonly rows: IndexRows
  readonly types: TypeCodes
  readonly clock: Clock
}

/** What a step has done: the type is complete when `left` is false. */
export interface Filled {
  readonly left: boolean
  /** Columns that hold more than before. */
  readonly moved: readonly ColumnRow[]
  /** Columns that were completed, with what was gone through. */
  readonly completed: readonly ColumnRow[]
}

export interface Backfill {
  /** One small transaction towards complete columns of a type. */
  step(type: string): Promise<Filled>
  /** One small transaction towards the removal of a column nobody uses. False when nothing is left of it. */
  remove(column: ColumnRow): Promise<boolean>
}

interface Cleared {
  readonly column: ColumnRow
  readonly state: 'left' | 'clean' | 'changed'
  /** Where taking out bits goes on. */
  readonly next?: number
}

export const createBackfill = ({ database, registry, rows, types, clock }: BackfillParts): Backfill => {
  // How far the bits of a column have been taken out, in this process; another one begins again.
  const cleared = new Map<number, number>()
  let extract: { readonly key: string; readonly run: Extract } | undefined

  const extractorOf = (type: string, codes: readonly number[]): Extract => {
    const key = `${type} ${codes.join(' ')}`
    if (extract?.key !== key) extract = { key, run: registry.partial(type, codes) }
    return extract.run
  }

  /** Rows of one table that a column has, so many at most. True when some are left. */
  const removeRows = async (transaction: Transaction, { code }: ColumnRow): Promise<boolean> => {
    for (const { count, some, all } of removals) {
      const range = [code, code + COLUMN_STEP]
      const { n } = (await transaction.get<{ n: number }>(count, range)) as { n: number }
      const many = Number(n) > MOST_REMOVED
      if (Number(n) > 0) await transaction.run(many ? some : all, range)
      if (many) return true
    }
    return false
  }
  /** The column's bit in a stretch of the resources of its type: where the next one begins, undefined after the last. */
  const removeBits = async (transaction: Transaction, { code, type, bit }: ColumnRow): Promise<number | undefined> => {
    const typeCode = types.code(type)
    if (bit < 0 || typeCode === undefined) return undefined
    const from = cleared.get(code) ?? 0
    const stride = await transaction.get<{ rid: number }>(readStride, [typeCode, from])
    const mask = 2 ** (bit % MASK_BITS)
    const statement = clearBits[Math.floor(bit / MASK_BITS)] as (typeof clearBits)[number]
    const to = stride?.rid ?? Number.MAX_SAFE_INTEGER
    await transaction.run(statement, [EVERY_BIT - mask, typeCode, from, to, mask])
    return stride?.rid
  }
  const clear = async (transaction: Transaction, column: ColumnRow): Promise<Cleared> => {
    const { code } = column
    const now = await transaction.get<ColumnRow>(lockColumn, [code])
    // Another server was faster, or a parameter uses the column again.
    if (now?.reach !== column.reach) return { column, state: 'changed' }
    if (await removeRows(transaction, column)) return { column, state: 'left' }
    const next = await removeBits(transaction, column)
    return next === undefined ? { column, state: 'clean' } : { column, state: 'left', next }
  }
  /** After COMMIT: a transaction that is undone has taken out nothing. */
  const noteCleared = ({ column: { code }, state, next }: Cleared): void => {
    if (state === 'left' && next !== undefined) cleared.set(code, next)
    if (state !== 'left') cleared.delete(code)
  }
  const clean = async (columns: readonly ColumnRow[]): Promise<void> => {
    const done = await database.transact(async (transaction) => {
      const results: Cleared[] = []
      const started = clock.monotonic()
      for (const column of columns) {
        const result = await clear(transaction, column)
        results.push(result)
        if (result.state === 'left') break
        if (result.state === 'clean') await transaction.run(setReach, [0, column.code])
        if (clock.monotonic() - started > BATCH_MS) break
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

  const complete = async (transaction: Transaction, columns: readonly ColumnRow[]): Promise<void> => {
    for (const { code } of columns) await transaction.run(setReady, [code])
    await transaction.run(nextGeneration, [])
  }

  /** What is expected to be gone through, for those that ask how far it is. */
  const count = async (type: string, columns: readonly ColumnRow[]): Promise<void> => {
    const [row] = await database.slow<{ n: number }>(countResources, [types.code(type) ?? 0])
    const expected = Number(row?.n ?? 0)
    await database.transact(async (transaction) => {
      for (const { code } of columns) await transaction.run(setExpected, [expected, code])
    })
    for (const { code } of columns) registry.note({ code, reach: 0, indexed: 0, expected })
  }

  const fillBatch = async (
    transaction: Transaction,
    type: string,
    active: readonly ColumnRow[],
    to: number,
  ): Promise<{ readonly reach: number; readonly count: number }> => {
    const codes = active.map(({ code }) => code)
    const run = extractorOf(type, codes)
    const from = (active[0] as ColumnRow).reach
    const batch = await transaction.all<BatchRow>(readBatch, [types.code(type) ?? 0, from, to, BATCH])
    const started = clock.monotonic()
    let last = from
    let done = 0
    for (const { rid, id, flags, body } of batch) {
      const text = unpackBody({ bytes: body, gzip: (flags & GZIP) !== 0 }).toString('utf8')
      const made = new Rows()
      run(JSON.parse(text) as Record<string, unknown>, made)
      const filled = rows.fill(transaction, { rid, type, id }, made)
      if (filled !== undefined) await filled
      last = rid
      done += 1
      if (clock.monotonic() - started > BATCH_MS) break
    }
    const atEnd = done === batch.length && batch.length < BATCH
    return { reach: atEnd ? to : last, count: done }
  }

  /** Columns that are as far behind as the furthest; they are filled as far as the next ones have come. */
  const fill = async (transaction: Transaction, type: string, wanted: ReadonlySet<number>): Promise<Filled> => {
    const unready = (await transaction.all<ColumnRow>(lockUnready, [type])).filter(({ code }) => wanted.has(code))
    if (unready.length === 0) return { left: false, moved: [], completed: [] }
    const from = Math.min(...unready.map(({ reach }) => reach))
    const active = unready.filter(({ reach }) => reach === from)
    const others = unready.filter(({ reach }) => reach > from)
    const to = Math.min(Number.MAX_SAFE_INTEGER, ...others.map(({ reach }) => reach))
    const { reach, count: added } = await fillBatch(transaction, type, active, to)
    const now = active.map((row) => ({ ...row, reach, indexed: row.indexed + added }))
    for (const { code } of active) await transaction.run(advance, [reach, added, code])
    const isEnd = reach === Number.MAX_SAFE_INTEGER
    if (isEnd) await complete(transaction, active)
    return { left: !isEnd || others.length > 0, moved: now, completed: isEnd ? now : [] }
  }

  return {
    async step(type) {
      const pending = registry.pending.filter((row) => row.type === type)
      const dirty = pending.filter(({ reach }) => reach === DIRTY)
      if (dirty.length > 0) {
        await clean(dirty)
        return { left: true, moved: [], completed: [] }
      }
      const fresh = pending.filter(({ reach, expected }) => reach === 0 && expected === 0)
      if (fresh.length > 0) await count(type, fresh)
      const wanted = new Set(pending.map(({ code }) => code))
      const filled = await database.transact((transaction) => fill(transaction, type, wanted))
      for (const row of filled.moved) registry.note(row)
      if (filled.completed.length > 0 || !filled.left) await registry.refresh()
      return filled
    },
    async remove(column) {
      const result = await database.transact(async (transaction) => {
        const cleaned = await clear(transaction, column)
        if (cleaned.state === 'clean') {
          await transaction.run(removeTexts, [column.code, column.code + COLUMN_STEP])
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
