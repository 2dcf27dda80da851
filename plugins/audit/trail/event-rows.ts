/**
 * Makes rows of events, without number and seal. An event gives one row for each patient that it is about, and one if
 * there is none.
 */

import {
  BATCH,
  type Entry,
  encodeBatch,
  eventsOf,
  MAX_BATCH_EVENTS,
  MIN_BATCH_EVENTS,
  storedQueryOf,
} from '../batch.ts'
import { BLOCK_ROWS } from '../blocks/block.ts'
import { eventCode, type TrailEvent } from '../event.ts'
import { encodeId } from '../id.ts'
import type { Row } from '../tables.ts'

const NOTHING = Buffer.alloc(0)
const OK = 200

/** A row before it gets its number and seal; `entries` are its events when it is a batch. */
export type UnnumberedRow = { -readonly [Column in keyof Row]: Row[Column] } & { readonly entries?: readonly Entry[] }

const packed = (id: string | undefined): Buffer | null => (id === undefined ? null : encodeId(id))

const rowOf = ({ event, patient }: Entry): UnnumberedRow => ({
  seq: 0,
  at: event.at,
  kind: eventCode(event.kind),
  status: event.status,
  type: event.type ?? null,
  id: packed(event.id),
  ver: event.version ?? null,
  patient: packed(patient),
  client: event.client ?? null,
  person: event.user ?? null,
  token: event.tokenId ?? null,
  address: event.address ?? null,
  request: packed(event.request),
  operation: event.operation ?? null,
  query: storedQueryOf(event) ?? null,
  number: event.number ?? null,
  proof: event.proof ?? null,
  pack: null,
  mac: NOTHING,
})

export const toRows = (events: readonly TrailEvent[]): readonly UnnumberedRow[] => eventsOf(events).map(rowOf)

const NO_EVENT = { type: null, id: null, ver: null, patient: null, client: null, person: null, token: null } as const
const NO_TEXT = { address: null, request: null, operation: null, query: null, proof: null } as const

/**
 * The same as batches, for rows that follow event number `seq`. A batch never crosses the end of a block, which
 * consists of whole rows.
 */
export const batchesOf = (events: readonly TrailEvent[], seq: number): readonly UnnumberedRow[] => {
  const entries = eventsOf(events)
  if (entries.length < MIN_BATCH_EVENTS) return entries.map(rowOf)
  const rows: UnnumberedRow[] = []
  for (let from = 0; from < entries.length; ) {
    const room = BLOCK_ROWS - ((seq + from) % BLOCK_ROWS)
    const batch = entries.slice(from, from + Math.min(room, MAX_BATCH_EVENTS))
    const { count, at, bytes } = encodeBatch(batch)
    rows.push({
      seq: 0,
      at,
      kind: BATCH,
      status: OK,
      ...NO_EVENT,
      ...NO_TEXT,
      number: count,
      pack: bytes,
      mac: NOTHING,
      entries: batch,
    })
    from += count
  }
  return rows
}
