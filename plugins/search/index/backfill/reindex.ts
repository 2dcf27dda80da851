/**
 * Rebuilds index rows: resets the columns in question and fills them again. If it is interrupted, the next run or the
 * next start of a server resumes it. Until it is done, searches that need these columns are refused with 503, so that
 * no search misses resources.
 */
import type { Clock } from '../../../../kernel/index.ts'
import type { Database } from '../../../database/service.ts'
import type { TypeCodes } from '../../../storage/service.ts'
import { ReindexUnknown } from '../../errors.ts'
import type { ColumnRow } from '../columns.ts'
import { countGeneration } from '../count-generation.ts'
import type { FullTextIndex } from '../full-text/text-index.ts'
import type { Registry } from '../registry.ts'
import {
  countResources,
  DIRTY,
  dropReindex,
  readBatchEnd,
  readReindex,
  removeOrphanedRows,
  setBackfilledTo,
  writeReindex,
} from '../tables.ts'
import type { Backfill } from './backfill.ts'
import { LOOK_MS } from './backfill-worker.ts'

/** Which columns: of all parameters, of those of a type, of those with a code. */
export interface ReindexScope {
  readonly type?: string | undefined
  readonly param?: string | undefined
}

export interface ReindexProgress {
  /** The type that is being filled. */
  readonly type: string
  /** Resources that were read, and how many there are in all. */
  readonly done: number
  readonly total: number
}

export interface ReindexListener {
  /** Called when the run resumes an interrupted one. */
  resumed?(): void
  /**
   * Called before the wait of `ms` milliseconds in which other servers notice that they may no longer use these rows.
   */
  waiting?(ms: number): void
  step?(step: ReindexProgress): void
  /** Awaited between two transactions. An error that it throws ends the run. */
  pause?(): Promise<void> | undefined
}

/** A run that may be repeated in other processes. */
export interface ReindexRun {
  /** The same for all attempts: a later one resumes the run, also where nothing is left to do. */
  readonly id: string
  /** Whether searches are answered meanwhile. Then the full-text index is not rebuilt. */
  readonly isServed: boolean
}

export interface ReindexParts {
  readonly database: Database
  readonly registry: Registry
  readonly backfill: Backfill
  readonly types: TypeCodes
  readonly words: Pick<FullTextIndex, 'clear' | 'complete'>
  readonly clock: Clock
}

export type Reindex = (
  scope: ReindexScope,
  watch?: ReindexListener,
  run?: ReindexRun,
) => Promise<{ readonly resources: number }>

const deadline = (clock: Clock, ms: number): Promise<void> =>
  new Promise((resolve) => clock.deadline(ms).addEventListener('abort', () => resolve(), { once: true }))

/** Throws `ReindexUnknown` where the scope names no columns. */
export const columnsOfScope = (
  registry: Pick<Registry, 'columnsOf'>,
  { type, param }: ReindexScope,
): readonly ColumnRow[] => {
  const columns = registry.columnsOf({ type, code: param })
  if (columns.length > 0) return columns
  const named = type === undefined ? 'any type' : `the type ${type}`
  throw ReindexUnknown(param === undefined ? named : `"${param}" of ${type ?? 'any type'}`)
}

export const createReindex = ({ database, registry, backfill, types, words, clock }: ReindexParts): Reindex => {
  const columnsOf = (scope: ReindexScope): readonly ColumnRow[] => columnsOfScope(registry, scope)

  /**
   * Resets the columns, unless an interrupted run with the same scope has done so. Resolves to true when it resumes
   * that run.
   */
  const begin = async (scope: ReindexScope, id: string | undefined): Promise<boolean> => {
    const words = `${scope.type ?? '*'} ${scope.param ?? '*'}`
    const name = id === undefined ? words : `${words} ${id}`
    const codes = columnsOf(scope).map(({ code }) => code)
    const pending = new Set(registry.pending.map(({ code }) => code))
    return database.transact(async (transaction) => {
      const held = await transaction.get<{ value: string }>(readReindex, [])
      if (held?.value === name && (id !== undefined || codes.some((code) => pending.has(code)))) return true
      for (const code of codes) await transaction.run(setBackfilledTo, [DIRTY, code])
      await transaction.run(writeReindex, [name])
      await countGeneration(transaction)
      return false
    })
  }
  /** Removes rows of a type whose resource no longer exists. */
  const removeAllStrays = async (type: string): Promise<void> => {
    const code = types.code(type) ?? 0
    let from: number | undefined = 0
    while (from !== undefined)
      from = await database.transact(async (transaction): Promise<number | undefined> => {
        const stride = await transaction.get<{ rid: number }>(readBatchEnd, [code, from as number])
        await transaction.run(removeOrphanedRows, [code, from as number, stride?.rid ?? Number.MAX_SAFE_INTEGER])
        return stride?.rid
      })
  }
  const countOf = async (type: string): Promise<number> => {
    const [row] = await database.longQuery<{ n: number }>(countResources, [types.code(type) ?? 0])
    return Number(row?.n ?? 0)
  }

  return async (scope, watch = {}, run) => {
    await registry.refresh()
    const isShared = await database.isShared()
    if (await begin(scope, run?.id)) watch.resumed?.()
    else if (isShared) {
      watch.waiting?.(2 * LOOK_MS)
      await deadline(clock, 2 * LOOK_MS)
    } else if (run?.isServed !== true && scope.type === undefined && scope.param === undefined) await words.clear()
    await registry.refresh()
    const all = [...new Set(columnsOf(scope).map(({ type }) => type))].sort()
    // All columns are cleared before any is filled: filling a type also adds rows of the types that its resources
    // contain.
    for (const type of all)
      while (registry.pending.some((row) => row.type === type && row.reach === DIRTY)) {
        await backfill.step(type)
        await watch.pause?.()
      }
    const counts = new Map<string, number>()
    for (const type of all) counts.set(type, await countOf(type))
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
    let before = 0
    for (const type of all) {
      const count = counts.get(type) as number
      if (scope.param === undefined) await removeAllStrays(type)
      for (let left = true; left; ) {
        const step = await backfill.step(type)
        left = step.left
        const indexed = Math.min(count, ...step.moved.map((row) => row.indexed))
        if (step.moved.length > 0) watch.step?.({ type, done: before + indexed, total })
        // Lets other work of the main thread run.
        await new Promise(setImmediate)
        await watch.pause?.()
      }
      before += count
      watch.step?.({ type, done: before, total })
    }
    await words.complete()
    await database.transact((transaction) => transaction.run(dropReindex, []))
    return { resources: total }
  }
}
