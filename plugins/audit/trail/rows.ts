/** Events → rows without their place in the chain. One event is as many rows as patients it is about, one at least. */
import { codeOf, type TrailEvent } from '../event.ts'
import { packId } from '../id.ts'
import type { Row } from '../tables.ts'

const QUERY_CHARS = 8_192 // what is longer is cut: it is a record, not the search itself

const NOTHING = Buffer.alloc(0)

/** Its number and seal are given to it when it is written. */
export type Unplaced = { -readonly [Column in keyof Row]: Row[Column] }

const packPatient = (reference: string): Buffer => packId(reference.slice('Patient/'.length))
const packed = (id: string | undefined): Buffer | null => (id === undefined ? null : packId(id))

export const rowsOf = (events: readonly TrailEvent[]): readonly Unplaced[] => {
  const rows: Unplaced[] = []
  for (const event of events) {
    const row: Unplaced = {
      seq: 0,
      at: event.at,
      kind: codeOf(event.kind),
      status: event.status,
      type: event.type ?? null,
      id: packed(event.id),
      ver: event.version ?? null,
      patient: null,
      client: event.client ?? null,
      person: event.user ?? null,
      token: event.tokenId ?? null,
      address: event.address ?? null,
      request: packed(event.request),
      operation: event.operation ?? null,
      query: event.query?.().slice(0, QUERY_CHARS).toWellFormed() ?? null,
      number: event.number ?? null,
      proof: event.proof ?? null,
      mac: NOTHING,
    }
    rows.push(row)
    const [first, ...others] = event.patients?.() ?? []
    if (first !== undefined) row.patient = packPatient(first)
    for (const patient of others) rows.push({ ...row, patient: packPatient(patient) })
  }
  return rows
}
