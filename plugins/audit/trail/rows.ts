/** Events → rows without their place in the chain. One event is as many rows as patients it is about, one at least. */
import { codeOf, type TrailEvent } from '../event.ts'
import { packId } from '../id.ts'
import type { Row } from '../tables.ts'

const QUERY_CHARS = 8_192 // what is longer is cut: it is a record, not the search itself

export type Unplaced = Omit<Row, 'seq' | 'mac'>

const packed = (id: string | undefined): Buffer | null => (id === undefined ? null : packId(id))

export const rowsOf = (events: readonly TrailEvent[]): readonly Unplaced[] => {
  const rows: Unplaced[] = []
  for (const event of events) {
    const row: Unplaced = {
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
    }
    const patients = event.patients?.() ?? []
    if (patients.length === 0) rows.push(row)
    for (const patient of patients) rows.push({ ...row, patient: packId(patient.slice('Patient/'.length)) })
  }
  return rows
}
