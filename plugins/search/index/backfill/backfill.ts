/**
 * Puts resources into columns that were not there when they were stored: after a package brought search parameters, or
 * a client posted one. Goes by rid in small transactions that note how far they came, so that an interrupted one goes
 * on, and two servers take turns.
 */

import { sql, type Transaction } from '../../../database/service.ts'
import { decompressBody } from '../../../storage/service.ts'
import type { ColumnRow } from '../columns.ts'
import { CONTAINED_OFFSET, containedRid, containerOf } from '../contained/key-space.ts'
import type { Extract } from '../extractor.ts'
import { IndexEntries } from '../index-entries.ts'
import { parseIndexed } from '../indexed-json.ts'
import {
  advance,
  countResources,
  DIRTY,
  lockUnready,
  nextGeneration,
  readContained,
  readHeldTypes,
  setExpected,
  setReady,
} from '../tables.ts'
import type { BackfillParts } from './backfill-parts.ts'
import { createColumnClearing } from './clear-columns.ts'

const BATCH = 100 // resources of one transaction, at most
const BATCH_MS = 4 // of work on the main thread, then others get their turn
/** Of `reach`: the resources of the type are done, those that others contain begin; behind it, how many containers. */
const CONTAINED = 2 ** 52
const ALL = Number.MAX_SAFE_INTEGER

const BATCH_ROWS =
  'SELECT rid, type, id, flags, body FROM resource WHERE type = ? AND rid > ? AND rid <= ? AND (flags & 1) = 0 ORDER BY rid LIMIT ?'
// On PostgreSQL a change of the same resource waits for the few milliseconds of the batch: else rows of the version
// that was read could be added after those of the version that replaced it.
const readBatch = sql('search.backfill-batch', { sqlite: BATCH_ROWS, postgres: `${BATCH_ROWS} FOR UPDATE` })

const CONTAINER = 'SELECT rid, type, id, flags, body FROM resource WHERE rid = ? AND (flags & 1) = 0'
const readContainer = sql('search.backfill-container', { sqlite: CONTAINER, postgres: `${CONTAINER} FOR UPDATE` })

interface BatchRow {
  readonly rid: number
  readonly type: number
  readonly id: string
  readonly flags: number
  readonly body: Buffer
}

/** What a step has done: the type is complete when `left` is false. */
export interface BackfillStep {
  readonly left: boolean
  /** It took out what was there before, and filled nothing yet. */
  readonly cleaned?: boolean
  /** Columns that hold more than before. */
  readonly moved: readonly ColumnRow[]
  /** Columns that were completed, with what was gone through. */
  readonly completed: readonly ColumnRow[]
}

export interface Backfill {
  /** Completes at once the columns of types that have nothing to go through. */
  completeEmpty(wanted: (column: ColumnRow) => boolean): Promise<void>
  /** One small transaction towards complete columns of a type. */
  step(type: string): Promise<BackfillStep>
  /** One small transaction towards the removal of a column nobody uses. False when nothing is left of it. */
  remove(column: ColumnRow): Promise<boolean>
}

export const createBackfill = ({ database, registry, rows, types, clock, gate }: BackfillParts): Backfill => {
  const clearing = createColumnClearing({ database, registry, rows, types, clock, gate })
  let extract: { readonly key: string; readonly run: Extract } | undefined

  const resourceOf = ({ body, flags }: BatchRow): Record<string, unknown> =>
    parseIndexed(decompressBody(body, flags).toString('utf8'))
  const extractorOf = (type: string, codes: readonly number[]): Extract => {
    const key = `${type} ${codes.join(' ')}`
    if (extract?.key === key) return extract.run
    const run = registry.needWhole(codes) ? registry.extractInto : registry.collector(type, codes)
    extract = { key, run }
    return run
  }

  const complete = async (transaction: Transaction, columns: readonly ColumnRow[]): Promise<void> => {
    for (const { code } of columns) await transaction.run(setReady, [code])
    await transaction.run(nextGeneration, [])
  }

  /** What is expected to be gone through, for those that ask how far it is. */
  const count = async (type: string, columns: readonly ColumnRow[]): Promise<void> => {
    const [row] = await database.longQuery<{ n: number }>(countResources, [types.code(type) ?? 0])
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
    for (const row of batch) {
      const { rid, id } = row
      const resource = resourceOf(row)
      const made = new IndexEntries()
      run(resource, made)
      const filled = rows.addTo(transaction, { rid, type, id }, made)
      if (filled !== undefined) await filled
      if (resource.contained !== undefined) await rows.addContained(transaction, { rid, type, id }, resource)
      last = rid
      done += 1
      if (clock.monotonic() - started > BATCH_MS) break
    }
    const atEnd = done === batch.length && batch.length < BATCH
    return { reach: atEnd ? to : last, count: done }
  }
  /** The same for resources of the type that others contain: the containers are known by them. */
  const fillContained = async (transaction: Transaction, type: string, from: number, to: number): Promise<number> => {
    const first = from === CONTAINED ? 0 : containedRid(from - CONTAINED + 1, 0)
    const held = await transaction.all<{ rid: number }>(readContained, [
      (types.code(type) ?? 0) - CONTAINED_OFFSET,
      first,
      BATCH,
    ])
    const containers = [...new Set(held.map(({ rid }) => containerOf(rid)))]
    const started = clock.monotonic()
    for (const container of containers) {
      if (CONTAINED + container > to) return to
      const row = await transaction.get<BatchRow>(readContainer, [container])
      if (row !== undefined) {
        const at = { rid: row.rid, type: types.name(row.type), id: row.id }
        await rows.addContained(transaction, at, resourceOf(row))
      }
      if (clock.monotonic() - started > BATCH_MS) return CONTAINED + container
    }
    return held.length < BATCH ? to : CONTAINED + (containers.at(-1) as number)
  }

  /** Columns that are as far behind as the furthest; they are filled as far as the next ones have come. */
  const fill = async (transaction: Transaction, type: string, wanted: ReadonlySet<number>): Promise<BackfillStep> => {
    const unready = (await transaction.all<ColumnRow>(lockUnready, [type])).filter(({ code }) => wanted.has(code))
    await gate.compare(transaction)
    if (unready.length === 0) return { left: false, moved: [], completed: [] }
    const from = Math.min(...unready.map(({ reach }) => reach))
    const active = unready.filter(({ reach }) => reach === from)
    const others = unready.filter(({ reach }) => reach > from)
    const isContained = from >= CONTAINED
    const to = Math.min(isContained ? ALL : CONTAINED, ...others.map((row) => row.reach))
    const { reach, count: added } = isContained
      ? { reach: await fillContained(transaction, type, from, to), count: 0 }
      : await fillBatch(transaction, type, active, to)
    const now = active.map((row) => ({ ...row, reach, indexed: row.indexed + added }))
    for (const { code } of active) await transaction.run(advance, [reach, added, code])
    const isEnd = reach === ALL
    if (isEnd) await complete(transaction, active)
    return { left: !isEnd || others.length > 0, moved: now, completed: isEnd ? now : [] }
  }

  const completeEmpty = async (wanted: (column: ColumnRow) => boolean): Promise<void> => {
    const candidates = registry.pending.filter((row) => row.reach === 0 && wanted(row))
    if (candidates.length === 0) return
    const rows = await database.all<{ code: number }>(readHeldTypes, [CONTAINED_OFFSET])
    const held = new Set(rows.map(({ code }) => code))
    const empty = candidates.filter(({ type }) => !held.has(types.code(type) ?? 0))
    if (empty.length === 0) return
    await database.transact(async (transaction) => {
      await complete(transaction, empty)
      await gate.compare(transaction)
    })
    await registry.refresh()
  }
  const step = async (type: string): Promise<BackfillStep> => {
    const pending = registry.pending.filter((row) => row.type === type)
    const dirty = pending.filter(({ reach }) => reach === DIRTY)
    if (dirty.length > 0) {
      await clearing.clean(dirty)
      return { left: true, cleaned: true, moved: [], completed: [] }
    }
    const fresh = pending.filter(({ reach, expected }) => reach === 0 && expected === 0)
    if (fresh.length > 0) await count(type, fresh)
    const wanted = new Set(pending.map(({ code }) => code))
    const filled = await database.transact((transaction) => fill(transaction, type, wanted))
    for (const row of filled.moved) registry.note(row)
    if (filled.completed.length > 0 || !filled.left) await registry.refresh()
    return filled
  }

  return {
    async completeEmpty(wanted) {
      await gate.run(() => completeEmpty(wanted))
    },
    // Where the layout has changed the next step is another one.
    step: async (type) => (await gate.run(() => step(type))) ?? { left: true, cleaned: true, moved: [], completed: [] },
    remove: async (column) => (await gate.run(() => clearing.remove(column))) ?? false,
  }
}
