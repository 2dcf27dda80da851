/** Reads a batch of stored resources, and adds their rows to the columns that are being filled. */
import { sql, type Transaction } from '../../../database/service.ts'
import { byLockKey, decompressBody, lockKeyOf } from '../../../storage/service.ts'
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
// The lock makes a concurrent change of the same resource wait for the few milliseconds of the batch. Otherwise this batch
// could add rows of the version it has read after the change has written those of its successor. Locks are taken in the
// order of `Type/id`, as transactions with several changes take theirs, so that the two cannot deadlock. A resource that was
// deleted meanwhile has a `place` and nothing else.
const LOCKED =
  'LEFT JOIN LATERAL (SELECT r.rid, r.type, r.id, r.flags, r.body FROM resource r WHERE r.rid = w.place AND (r.flags & 1) = 0 FOR NO KEY UPDATE OF r) l ON true'
const readBatch = sql('search.backfill-batch', {
  sqlite: `SELECT rid AS place, * FROM (${BATCH_ROWS})`,
  postgres: `SELECT w.place, l.* FROM (SELECT b.rid AS place FROM (${BATCH_ROWS}) b ORDER BY b.id COLLATE "C" OFFSET 0) w ${LOCKED}`,
})

const HELD = 'SELECT r.rid AS place, t.name AS type, r.id AS id FROM resource r JOIN resource_type t ON t.code = r.type'
const listContainers = sql('search.backfill-containers', {
  sqlite: `${HELD} WHERE r.rid IN (SELECT value FROM json_each(?))`,
  postgres: `${HELD} WHERE r.rid = ANY (SELECT CAST(value AS bigint) FROM jsonb_array_elements_text(?::jsonb))`,
})
const readContainers = sql('search.backfill-locked-containers', {
  sqlite:
    'SELECT w.value AS place, r.* FROM json_each(?) w LEFT JOIN (SELECT rid, type, id, flags, body FROM resource WHERE (flags & 1) = 0) r ON r.rid = w.value',
  postgres: `SELECT w.place, l.* FROM (SELECT CAST(t.value AS bigint) AS place FROM jsonb_array_elements_text(?::jsonb) WITH ORDINALITY AS t(value, at) ORDER BY t.at OFFSET 0) w ${LOCKED}`,
})

interface BatchRow {
  /** The key by which it was found. */
  readonly place: number
  readonly rid: number
  readonly type: number
  readonly id: string
  readonly flags: number
  readonly body: Buffer
}

type FoundRow = BatchRow | ({ readonly [column in keyof Omit<BatchRow, 'place'>]: null } & { readonly place: number })
const isThere = (row: FoundRow): row is BatchRow => row.rid !== null

interface NamedRow {
  readonly place: number
  readonly type: string
  readonly id: string
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
    const found = await transaction.all<FoundRow>(readBatch, [types.code(type) ?? 0, from, to, BATCH])
    const batch = found.sort((one, other) => one.place - other.place)
    const started = clock.monotonic()
    let last = from
    let done = 0
    for (const row of batch) {
      last = row.place
      done += 1
      if (!isThere(row)) continue
      const { rid, id } = row
      const resource = resourceOf(row)
      const made = new IndexEntries()
      run(resource, made)
      const filled = rows.addTo(transaction, { rid, type, id }, made)
      if (filled !== undefined) await filled
      if (resource.contained !== undefined) await rows.addContained(transaction, { rid, type, id }, resource)
      if (clock.monotonic() - started > BATCH_MS) break
    }
    const atEnd = done === batch.length && batch.length < BATCH
    return { reach: atEnd ? to : last, count: done }
  }

  const lockContainers = async (
    transaction: Transaction,
    containers: readonly number[],
  ): Promise<ReadonlyMap<number, BatchRow>> => {
    if (containers.length === 0) return new Map()
    const named = await transaction.all<NamedRow>(listContainers, [JSON.stringify(containers)])
    const sorted = named
      .map(({ place, type, id }) => ({ place, key: lockKeyOf({ type, id }) }))
      .sort((one, other) => byLockKey(one.key, other.key))
    const rows = await transaction.all<FoundRow>(readContainers, [JSON.stringify(sorted.map(({ place }) => place))])
    return new Map(rows.filter(isThere).map((row) => [row.rid, row]))
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
    const locked = await lockContainers(
      transaction,
      containers.filter((container) => CONTAINED + container <= to),
    )
    for (const container of containers) {
      if (CONTAINED + container > to) return to
      const row = locked.get(container)
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
