/**
 * Adds index rows of stored resources to columns that are newer than the resources: after a package or a client has
 * added search parameters. Resources are read in the order of their resource keys, in small transactions that record
 * their progress. An interrupted backfill resumes there, and two servers take turns.
 */

import type { Transaction } from '../../../database/service.ts'
import type { ColumnRow } from '../columns.ts'
import { CONTAINED_OFFSET } from '../contained/key-space.ts'
import { countGeneration } from '../count-generation.ts'
import { advance, countResources, DIRTY, lockUnready, readHeldTypes, setExpected, setReady } from '../tables.ts'
import type { BackfillParts } from './backfill-parts.ts'
import { CONTAINED, createBatchFilling } from './batch-filling.ts'
import { createColumnClearing } from './clear-columns.ts'

const ALL = Number.MAX_SAFE_INTEGER

/** Result of a step. `left` is false when the type is complete. */
export interface BackfillStep {
  readonly left: boolean
  /** The step removed old rows and filled nothing yet. */
  readonly cleaned?: boolean
  /** Columns whose progress increased. */
  readonly moved: readonly ColumnRow[]
  /** Columns that were completed, with the number of resources that were read. */
  readonly completed: readonly ColumnRow[]
}

export interface Backfill {
  /** Completes, without reading anything, the columns of types that have no resources. */
  completeEmpty(wanted: (column: ColumnRow) => boolean): Promise<void>
  /** Runs one small transaction that clears or fills columns of a type. */
  step(type: string): Promise<BackfillStep>
  /** Runs one small transaction that removes rows of an unused column. Resolves to false when the column is gone. */
  remove(column: ColumnRow): Promise<boolean>
}

export const createBackfill = ({ database, registry, rows, types, clock, gate }: BackfillParts): Backfill => {
  const clearing = createColumnClearing({ database, registry, rows, types, clock, gate })
  const filling = createBatchFilling({ registry, rows, types, clock })

  const complete = async (transaction: Transaction, columns: readonly ColumnRow[]): Promise<void> => {
    for (const { code } of columns) await transaction.run(setReady, [code])
    await countGeneration(transaction)
  }

  /** Records how many resources there are to read, for progress reports. */
  const count = async (type: string, columns: readonly ColumnRow[]): Promise<void> => {
    const [row] = await database.longQuery<{ n: number }>(countResources, [types.code(type) ?? 0])
    const expected = Number(row?.n ?? 0)
    await database.transact(async (transaction) => {
      for (const { code } of columns) await transaction.run(setExpected, [expected, code])
    })
    for (const { code } of columns) registry.note({ code, reach: 0, indexed: 0, expected })
  }

  /** Fills the columns that are furthest behind, up to where the next ones already are. */
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
      ? { reach: await filling.fillContained(transaction, type, from, to), count: 0 }
      : await filling.fillBatch(transaction, type, active, to)
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
    // Undefined means that the layout has changed: the caller tries another step.
    step: async (type) => (await gate.run(() => step(type))) ?? { left: true, cleaned: true, moved: [], completed: [] },
    remove: async (column) => (await gate.run(() => clearing.remove(column))) ?? false,
  }
}
