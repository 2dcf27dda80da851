/**
 * Events of a moment in one row. A row of its own costs a read more than the read itself: what is written together is
 * kept together, in one column, under one seal. Each event still has its number: a pack has that of its first one, so that
 * servers that write after the same event meet at it, and `number` says how many there are.
 */
import { eventCode, type TrailEvent } from './event.ts'
import { encodeId } from './id.ts'
import type { Row } from './tables.ts'

/** `kind` of a row that is a pack. Part of what is stored. */
export const BATCH = 1_000
/** Fewer are rows of their own. */
export const MIN_BATCH_EVENTS = 8
/** More are several packs: what is read of the trail is read in whole packs. */
export const MAX_BATCH_EVENTS = 256

/** Stands for what the event before has in the same place, where a text is expected. */
const SAME = 0

type Text = string | null | undefined
type StoredMember = string | number | null | undefined

/**
 * An event in its pack: milliseconds since the one before, kind, status, id or SAME, version and request; six texts, left
 * out when all are SAME and nothing follows; operation, query and number, left out when there is none of them.
 */
type Packed = StoredMember[]

export interface EventBatch {
  readonly count: number
  /** Milliseconds, of the last one. */
  readonly at: number
  readonly bytes: Buffer
}

/** How many events a row is. */
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

/** One event is as many entries as patients it is about, one at least. */
export const eventsOf = (events: readonly TrailEvent[]): readonly Entry[] => {
  const entries: Entry[] = []
  for (const event of events) {
    const patients = event.details?.patients?.()
    if (patients === undefined || patients.length === 0) entries.push({ event, patient: undefined })
    else for (const patient of patients) entries.push({ event, patient: patient.slice(START) })
  }
  return entries
}

const QUERY_CHARS = 8_192 // what is longer is cut: it is a record, not the search itself

/** What was searched for, as it is kept. */
export const storedQueryOf = ({ details }: TrailEvent): string | undefined =>
  details?.query?.().slice(0, QUERY_CHARS).toWellFormed()

/** Entries → one row's worth of them. */
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
    // Somebody changed it, which verification names.
    return []
  }
}

/** A row → the events it holds, in their order; itself when it is no pack. */
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
    // Written in full by earlier builds.
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
