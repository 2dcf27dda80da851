/**
 * Puts resources into the index that were stored before their columns were: at start, and after a SearchParameter was
 * added. Goes by rid in small transactions and notes how far it came, so that an interrupted one goes on.
 */
import type { Logger } from '../../../kernel/index.ts'
import { type Database, sql } from '../../database/service.ts'
import { unpackBody } from '../store/body.ts'
import { GZIP } from '../store/tables.ts'
import type { TypeCodes } from '../store/type-codes.ts'
import { COLUMN_STEP } from './convert/columns.ts'
import type { IndexRows } from './index-rows.ts'
import type { Registry } from './registry.ts'
import { clearProgress, deleteColumn, readProgress, setReady, writeProgress } from './tables.ts'

const BATCH = 100 // resources of one transaction: a few milliseconds

const readBatch = sql(
  'search.backfill-batch',
  'SELECT rid, id, flags, body FROM resource WHERE type = ? AND rid > ? AND (flags & 1) = 0 ORDER BY rid LIMIT ?',
)

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
  readonly log?: Logger | undefined
}

/** Resolves when every column holds every resource. Stops between batches when `signal` aborts. */
export const backfill = async (
  { database, registry, rows, types, log }: BackfillParts,
  signal?: AbortSignal,
): Promise<void> => {
  for (const { type, codes } of registry.pending) {
    const code = types.code(type)
    const held = await database.get<{ rid: number }>(readProgress, [type])
    let at = held?.rid ?? -1
    if (at === -1) {
      // What an earlier life of these columns left behind is not to be trusted.
      await database.transact(async (transaction) => {
        for (const column of codes)
          for (const statement of deleteColumn) await transaction.run(statement, [column, column + COLUMN_STEP])
        await transaction.run(writeProgress, [type, 0])
      })
      at = 0
    }
    let count = 0
    while (code !== undefined && !signal?.aborted) {
      const next = await database.transact(async (transaction) => {
        const batch = await transaction.all<BatchRow>(readBatch, [code, at, BATCH])
        for (const { rid, id, flags, body } of batch) {
          const text = unpackBody({ bytes: body, gzip: (flags & GZIP) !== 0 }).toString('utf8')
          const filled = rows.fill(transaction, rid, type, id, JSON.parse(text) as Record<string, unknown>)
          if (filled !== undefined) await filled
        }
        const last = batch.at(-1)?.rid
        if (last !== undefined) await transaction.run(writeProgress, [type, last])
        count += batch.length
        return last
      })
      if (next === undefined) break
      at = next
    }
    if (signal?.aborted) return
    await database.transact(async (transaction) => {
      for (const column of codes) await transaction.run(setReady, [1, column])
      await transaction.run(clearProgress, [type])
    })
    registry.completed(type)
    if (count > 0) log?.info({ type, resources: count }, 'search index completed')
  }
}
