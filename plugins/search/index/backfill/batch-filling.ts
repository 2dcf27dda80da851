/** Reads a batch of stored resources, and adds their rows to the columns that are being filled. */
import { sql, type Transaction } from '../../../database/service.ts'
import { decompressBody } from '../../../storage/service.ts'
import type { ColumnRow } from '../columns.ts'
import { CONTAINED_OFFSET, containedRid, containerOf } from '../contained/key-space.ts'
import type { Extract } from '../extractor.ts'
import { IndexEntries } from '../index-entries.ts'
import { parseIndexed } from '../indexed-json.ts'
import { readContained } from '../tables.ts'
import type { BackfillParts } from './backfill-parts.ts'

const BATCH = 100 // most resources of one transaction
const BATCH_MS = 4 // milliseconds on the main thread before other work may run
/**
 * Values of `reach` from this one on: all resources of the type are done and contained resources are next. `reach`
 * minus this is the key of the last container that is done.
 */
export const CONTAINED = 2 ** 52

const BATCH_ROWS =
  'SELECT rid, type, id, flags, body FROM resource WHERE type = ? AND rid > ? AND rid <= ? AND (flags & 1) = 0 ORDER BY rid LIMIT ?'
// FOR UPDATE makes a concurrent change of the same resource wait for the few milliseconds of the batch. Otherwise
// this batch could add rows of the version it has read after the change has written those of its successor.
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

const resourceOf = ({ body, flags }: BatchRow): Record<string, unknown> =>
  parseIndexed(decompressBody(body, flags).toString('utf8'))

export type BatchFillingParts = Pick<BackfillParts, 'registry' | 'rows' | 'types' | 'clock'>

export const createBatchFilling = ({ registry, rows, types, clock }: BatchFillingParts) => {
  let extract: { readonly key: string; readonly run: Extract } | undefined

  const extractorOf = (type: string, codes: readonly number[]): Extract => {
    const key = `${type} ${codes.join(' ')}`
    if (extract?.key === key) return extract.run
    const run = registry.needWhole(codes) ? registry.extractInto : registry.collector(type, codes)
    extract = { key, run }
    return run
  }

  /**
   * Fills the columns `active`, which are equally far, up to the resource key `to`. Returns how far they are now, and the
   * number of resources.
   */
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

  /**
   * Does the same for contained resources of the type. Their containers are found by the keys of contained resources.
   */
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

  return { fillBatch, fillContained }
}
