/**
 * Finds events, newest first in the order of recording, so that pages do not shift while others are added. It goes from
 * the newest block to the oldest in slices, skips blocks that cannot match, and ends when the page is full.
 */
import type { Clock } from '../../../kernel/index.ts'
import { type Database, type Sql, sql } from '../../database/service.ts'
import { BATCH, decodeBatch } from '../batch.ts'
import { BLOCK_ROWS, blockStart } from '../blocks/block.ts'
import { AuditSearchTooCostly } from '../errors.ts'
import { COLUMNS, type Row, readBlocks, readNewestEvents } from '../tables.ts'
import { allBlockQuery, mayMatch, type WantedKeys } from './block-query.ts'
import type { AuditClause } from './parameters.ts'

const MAX_SHAPES = 200 // cached statement texts; clients use few combinations of parameters
const FEW_BLOCKS = 16 // of the first slice, which usually fills the page
const MAX_BLOCKS = 256 // of a slice: at most a megabyte of filters, or a tenth of a second of reading rows
const PAGE_MS = 10_000
const ROWS_OF_PACKS = 16 // read in one query: some milliseconds of decoding
const ROWS = 250

export interface AuditSearch {
  /** At most `limit` rows with numbers below `before`; fewer when `signal` aborts. */
  find(
    conditions: readonly AuditClause[],
    before: number | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly Row[]>
  /** The same with a time limit of PAGE_MS. Throws SearchTooCostly. */
  findInTime: AuditSearch['find']
}

interface Range {
  from: number
  readonly to: number
}

export const createAuditSearch = (database: Database, clock: Clock): AuditSearch => {
  const made = new Map<string, Sql>()
  let count = 0
  const statement = (text: string): Sql => {
    const known = made.get(text)
    if (known !== undefined) return known
    if (made.size >= MAX_SHAPES) made.clear()
    count += 1
    const one = sql(`audit.find-${count}`, text)
    made.set(text, one)
    return one
  }
  const select = (conditions: readonly AuditClause[], { from, to }: Range, limit: number, signal: AbortSignal) => {
    const texts = ['seq >= ?', 'seq <= ?', ...conditions.map(({ text }) => `(${text} OR kind = ?)`)]
    const text = `SELECT ${COLUMNS.join(', ')} FROM audit_event WHERE ${texts.join(' AND ')} ORDER BY seq DESC LIMIT ?`
    const params = [from, to, ...conditions.flatMap((condition) => [...condition.params, BATCH]), limit]
    return database.longQuery<Row>(statement(text), params, signal)
  }
  /** Adds the events of a range, newest first, until there are `limit`. */
  const collect = async (
    found: Row[],
    conditions: readonly AuditClause[],
    { from, to }: Range,
    limit: number,
    signal: AbortSignal,
  ): Promise<void> => {
    // A batch is stored under the number of its first event, which lies in the same block.
    const bottom = Math.max(1, blockStart(from))
    let top = to
    for (let size = ROWS_OF_PACKS; found.length < limit && !signal.aborted; ) {
      const rows = await select(conditions, { from: bottom, to: top }, size, signal)
      for (const row of rows)
        for (const event of decodeBatch(row).toReversed())
          if (
            event.seq >= from &&
            event.seq <= to &&
            found.length < limit &&
            (row.kind !== BATCH || conditions.every(({ holds }) => holds(event)))
          )
            found.push(event)
      const last = rows.at(-1)
      if (last === undefined || rows.length < size) return
      top = last.seq - 1
      size = rows.some(({ kind }) => kind === BATCH) ? ROWS_OF_PACKS : ROWS
    }
  }
  /** Ranges that may hold matches, newest first. Rows without a block are always included. */
  const rangesOf = async (wanted: WantedKeys, { from, to }: Range, signal: AbortSignal): Promise<readonly Range[]> => {
    if (!wanted.isSelective) return [{ from, to }]
    const blocks = await database.longQuery<{ first_seq: number; filter: Uint8Array | null }>(
      readBlocks,
      [...wanted.time, blockStart(from), blockStart(to)],
      signal,
    )
    const passed = new Set(blocks.filter((block) => !mayMatch(block, wanted)).map(({ first_seq }) => first_seq))
    const ranges: Range[] = []
    for (let first = blockStart(to); first > from - BLOCK_ROWS; first -= BLOCK_ROWS) {
      if (passed.has(first)) continue
      const last = ranges.at(-1)
      if (last?.from === first + BLOCK_ROWS) last.from = first
      else ranges.push({ from: first, to: Math.min(to, first + BLOCK_ROWS - 1) })
    }
    return ranges.map((range) => ({ ...range, from: Math.max(from, range.from) }))
  }

  const find: AuditSearch['find'] = async (conditions, before, limit, signal) => {
    const wanted = allBlockQuery(conditions)
    const [lowest, highest] = wanted.rows
    const found: Row[] = []
    let below = Math.min(before ?? Number.MAX_SAFE_INTEGER, highest + 1)
    const isDone = (): boolean => found.length === limit || signal.aborted
    for (let blocks = FEW_BLOCKS; !isDone(); blocks = Math.min(2 * blocks, MAX_BLOCKS)) {
      const newest = (await database.get<{ seq: number | null }>(readNewestEvents, [below]))?.seq ?? undefined
      if (newest === undefined) break
      const to = Math.min(blockStart(newest) + BLOCK_ROWS, below) - 1
      if (to < lowest) break
      const from = Math.max(lowest, blockStart(to) - (blocks - 1) * BLOCK_ROWS)
      for (const range of await rangesOf(wanted, { from, to }, signal)) {
        if (isDone()) return found
        await collect(found, conditions, range, limit, signal)
      }
      below = from
    }
    return found
  }
  return {
    find,
    async findInTime(conditions, before, limit, signal) {
      const late = clock.deadline(PAGE_MS)
      try {
        const found = await find(conditions, before, limit, AbortSignal.any([signal, late]))
        if (!late.aborted || found.length === limit) return found
      } catch (error) {
        if (!late.aborted || signal.aborted) throw error
      }
      throw AuditSearchTooCostly(PAGE_MS / 1000)
    },
  }
}
