/** The search of GET /_audit for other plugins: events as plain values. */
import { type EventKind, KINDS } from '../event.ts'
import { decodeId } from '../id.ts'
import type { Row } from '../tables.ts'
import type { AuditSearch } from './find.ts'
import { pageSize, readAuditQuery } from './parameters.ts'

export interface TrailEntry {
  readonly seq: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly kind: EventKind
  /** HTTP status; 200 or 500 for an event without a request. */
  readonly status: number
  /** Name of an operation, path of an admin endpoint, method of a request that was refused early. */
  readonly operation: string | undefined
  readonly type: string | undefined
  readonly id: string | undefined
  readonly patient: string | undefined
  readonly client: string | undefined
  readonly user: string | undefined
  readonly address: string | undefined
  readonly request: string | undefined
}

/**
 * A page of events, newest first, for the parameters of GET /_audit. `next`: the value of `_page` of the next page. Throws
 * 400 for an unknown parameter or a malformed value.
 */
export type TrailSearch = (
  parameters: URLSearchParams,
  signal: AbortSignal,
) => Promise<{ readonly entries: readonly TrailEntry[]; readonly next: string | undefined }>

const entryOf = (row: Row): TrailEntry => {
  const kind = KINDS[row.kind] ?? 'request'
  const idOf = (packed: Uint8Array | null): string | undefined => (packed === null ? undefined : decodeId(packed))
  return {
    seq: row.seq,
    at: row.at,
    kind,
    status: row.status,
    operation: row.operation ?? undefined,
    type: row.type ?? undefined,
    id: idOf(row.id),
    patient: idOf(row.patient),
    client: row.client ?? undefined,
    user: row.person ?? undefined,
    address: row.address ?? undefined,
    request: idOf(row.request),
  }
}

/** `flush` writes the queued events, so that they are found. */
export const createTrailSearch =
  (finder: AuditSearch, flush: () => Promise<void>): TrailSearch =>
  async (parameters, signal) => {
    const asked = readAuditQuery(`/?${parameters}`)
    await flush()
    const size = pageSize(asked)
    const found = await finder.findInTime(asked.conditions, asked.page, size + 1, signal)
    const shown = found.slice(0, size)
    const last = shown.at(-1)
    return {
      entries: shown.map(entryOf),
      next: found.length > size && last !== undefined ? String(last.seq) : undefined,
    }
  }
