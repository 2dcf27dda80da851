/**
 * `audit_inbox`: events of servers that only read, on their way to the trail, in which one process appends. A row holds those
 * of a moment. Each server numbers its rows 1, 2, 3, … The newest row that was moved stays, without its body, so that the next
 * one is known to follow it.
 */
import { sql } from '../../database/service.ts'
import { BATCH, decodeBatch } from '../batch.ts'
import { KINDS, type TrailEvent } from '../event.ts'
import { decodeId } from '../id.ts'
import type { Row } from '../tables.ts'

export interface InboxRow {
  /** Id of a process. */
  readonly server: string
  readonly n: number
  /** Id of the key of the seal. */
  readonly key: Uint8Array
  /** Events as in a batch of the trail. */
  readonly body: Uint8Array
  readonly seal: Uint8Array
}

/** The newest row of a server that was moved. */
export interface Anchor {
  readonly server: string
  readonly n: number
}

export const insertInbox = sql(
  'audit.inbox-insert',
  'INSERT INTO audit_inbox (server, n, key, body, seal) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
)
/** Writes something that a COMMIT waits for, and with it for everything before. */
export const hardenInbox = sql('audit.inbox-harden', {
  sqlite: 'SELECT 1 AS place',
  postgres: "SELECT pg_logical_emit_message(true, 'refhir', '') AS place",
})
export const findInbox = sql('audit.inbox-find', 'SELECT 1 AS found FROM audit_inbox WHERE body IS NOT NULL LIMIT 1')
export const readInbox = sql(
  'audit.inbox-read',
  'SELECT server, n, key, body, seal FROM audit_inbox WHERE body IS NOT NULL ORDER BY server, n LIMIT ?',
)
export const readAnchors = sql('audit.inbox-anchors', 'SELECT server, n FROM audit_inbox WHERE body IS NULL')
export const dropInbox = sql('audit.inbox-drop', 'DELETE FROM audit_inbox WHERE server = ? AND n <= ?')
export const anchorInbox = sql(
  'audit.inbox-anchor',
  'UPDATE audit_inbox SET body = NULL, seen_at = ? WHERE server = ? AND n = ?',
)
/** By the server itself, which may have had no events for long. */
export const touchAnchor = sql(
  'audit.inbox-touch',
  'UPDATE audit_inbox SET seen_at = ? WHERE server = ? AND body IS NULL',
)
export const forgetAnchors = sql('audit.inbox-forget', 'DELETE FROM audit_inbox WHERE body IS NULL AND seen_at < ?')

const EMPTY: Omit<Row, 'pack'> = Object.freeze({
  ...{
    seq: 0,
    at: 0,
    kind: BATCH,
    status: 0,
    type: null,
    id: null,
    ver: null,
    patient: null,
    client: null,
    person: null,
  },
  ...{ token: null, address: null, request: null, operation: null, query: null, number: null, proof: null },
  mac: Buffer.alloc(0),
})

const toEvent = (row: Row): TrailEvent => {
  const { query, patient } = row
  return {
    at: row.at,
    kind: KINDS[row.kind] ?? 'request',
    status: row.status,
    type: row.type ?? undefined,
    id: row.id === null ? undefined : decodeId(row.id),
    version: row.ver ?? undefined,
    details: {
      ...(patient !== null && { patients: () => [`Patient/${decodeId(patient)}`] }),
      ...(query !== null && { query: () => query }),
    },
    client: row.client ?? undefined,
    user: row.person ?? undefined,
    tokenId: row.token ?? undefined,
    address: row.address ?? undefined,
    request: row.request === null ? undefined : decodeId(row.request),
    operation: row.operation ?? undefined,
    number: row.number ?? undefined,
  }
}

/** The events of a body, one for each patient that an event is about. */
export const eventsIn = (body: Uint8Array): readonly TrailEvent[] => decodeBatch({ ...EMPTY, pack: body }).map(toEvent)
