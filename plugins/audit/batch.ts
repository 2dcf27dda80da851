/**
 * Stores events that are written together as one row, a batch: a row for each event costs more than the read that it
 * records. The events are in one column under one seal. Each event still has its number: `seq` of the batch is that of
 * its first event, so that servers that append after the same event conflict on it, and `number` says how many events
 * there are.
 */
import { eventCode, type TrailEvent } from './event.ts'
import { encodeId } from './id.ts'
import type { Row } from './tables.ts'

/** `kind` of a row that is a batch. Stored, so it must not change. */
export const BATCH = 1_000
/** Fewer events are stored as rows of their own. */
export const MIN_BATCH_EVENTS = 8
/** More events are stored as several batches: a query of the audit trail reads whole batches. */
export const MAX_BATCH_EVENTS = 256

/** Stands for the value that the event before has in the same place, where a text is expected. */
const SAME = 0

type Text = string | null | undefined
type StoredMember = string | number | null | undefined

/**
 * An event in its batch: milliseconds since the event before, kind, status, id or SAME, version and request; then six
 * texts, left out when all are SAME and nothing follows; then operation, query and number, left out when there is none
 * of them.
 */
type Packed = StoredMember[]

export interface EventBatch {
  readonly count: number
  /** Time of the last event, in milliseconds since the epoch. */
  readonly at: number
  readonly bytes: Buffer
}

/** How many events a row holds. */
export const spanOf = ({ kind, number }: Pick<Row, 'kind' | 'number'>): number => (kind === BATCH ? (number ?? 1) : 1)

/** Number of the last event of a row. */
export const lastSeqOf = (row: Pick<Row, 'seq' | 'kind' | 'number'>): number => row.seq + spanOf(row) - 1

const sameOr = (value: Text, before: Text): StoredMember => (value === before ? SAME : (value ?? null))

/** One event, about one patient or none. */
export interface Entry {
  readonly event: TrailEvent
  readonly patient: string | undefined
}

const START = 'Patient/'.length

/** Makes one entry for each patient that an event is about, and one for an event about none. */
export const eventsOf = (events: readonly TrailEvent[]): readonly Entry[] => {
  const entries: Entry[] = []
  for (const event of events) {
    const patients = event.details?.patients?.()
    if (patients === undefined || patients.length === 0) entries.push({ event, patient: undefined })
    else for (const patient of patients) entries.push({ event, patient: patient.slice(START) })
  }
  return entries
}

const QUERY_CHARS = 8_192 // longer queries are cut: the record need not be complete

/** The search parameters of an event as they are stored. */
export const storedQueryOf = ({ details }: TrailEvent): string | undefined =>
  details?.query?.().slice(0, QUERY_CHARS).toWellFormed()

/** Encodes entries as one batch. */
export const encodeBatch = (entries: readonly Entry[]): EventBatch => {
  const list: Packed[] = []
  let at = 0
  let before: Partial<TrailEvent> = {}
  let patientBefore: string | undefined
  for (const { event, patient } of entries) {
    const { kind, status, type, id, version, client, user, tokenId, address, request, operation, number } = event
    const one: Packed = [
      event.at - at,
      eventCode(kind),
      status,
      sameOr(id, before.id),
      version ?? null,
      request ?? null,
    ]
    const isPlain = operation === undefined && event.details?.query === undefined && number === undefined
    const isSame =
      type === before.type &&
      patient === patientBefore &&
      address === before.address &&
      client === before.client &&
      user === before.user &&
      tokenId === before.tokenId
    if (!isPlain || !isSame)
      one.push(
        sameOr(type, before.type),
        sameOr(patient, patientBefore),
        sameOr(client, before.client),
        sameOr(user, before.user),
        sameOr(tokenId, before.tokenId),
        sameOr(address, before.address),
      )
    if (!isPlain) one.push(operation ?? null, storedQueryOf(event) ?? null, number ?? null)
    list.push(one)
    at = event.at
    before = event
    patientBefore = patient
  }
  return { count: entries.length, at, bytes: Buffer.from(JSON.stringify(list), 'utf8') }
}

const packedOr = (id: StoredMember): Buffer | null => (typeof id === 'string' ? encodeId(id) : null)
const textOr = (text: StoredMember, before: string | null): string | null =>
  text === SAME || text === undefined ? before : (text as string | null)

const listIn = (bytes: Uint8Array): readonly Packed[] => {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'))
  } catch {
    // Changed from outside; verification reports it.
    return []
  }
}

/** Decodes a row into its events, in their order; a row that is not a batch is returned as it is. */
export const decodeBatch = (row: Row): readonly Row[] => {
  if (row.kind !== BATCH || row.pack === null) return [row]
  const list = listIn(row.pack)
  const rows: Row[] = []
  let at = 0
  let id: string | null = null
  let [type, patient, client, person, token, address]: (string | null)[] = [null, null, null, null, null, null]
  for (const [index, one] of list.entries()) {
    const [since, kind, status, resource, version, request] = one as [number, number, number, ...StoredMember[]]
    at += since
    // Earlier builds wrote the id in full each time.
    id = textOr(resource ?? null, id)
    type = textOr(one[6], type ?? null)
    patient = textOr(one[7], patient ?? null)
    client = textOr(one[8], client ?? null)
    person = textOr(one[9], person ?? null)
    token = textOr(one[10], token ?? null)
    address = textOr(one[11], address ?? null)
    rows.push({
      ...row,
      seq: row.seq + index,
      at,
      kind,
      status,
      type,
      id: packedOr(id),
      ver: (version ?? null) as number | null,
      patient: packedOr(patient),
      client,
      person,
      token,
      address,
      request: packedOr(request),
      operation: (one[12] ?? null) as string | null,
      query: (one[13] ?? null) as string | null,
      number: (one[14] ?? null) as number | null,
      pack: null,
    })
  }
  return rows
}
