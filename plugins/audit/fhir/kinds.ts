/**
 * How each kind of event is coded: type, subtype and action of AuditEvent, as IHE's Basic Audit Log Patterns do.
 * https://hl7.org/fhir/R4/auditevent.html, https://profiles.ihe.net/ITI/BALP
 */
import type { EventKind } from '../event.ts'

export interface AuditCode {
  readonly system: string
  readonly code: string
  readonly display?: string
}

export const DICOM = 'http://dicom.nema.org/resources/ontology/DCM'
const REST: AuditCode = {
  system: 'http://terminology.hl7.org/CodeSystem/audit-event-type',
  code: 'rest',
  display: 'RESTful Operation',
}
const APPLICATION: AuditCode = { system: DICOM, code: '110100', display: 'Application Activity' }
const LOG_USED: AuditCode = { system: DICOM, code: '110101', display: 'Audit Log Used' }
const AUTHENTICATION: AuditCode = { system: DICOM, code: '110114', display: 'User Authentication' }
const ALERT: AuditCode = { system: DICOM, code: '110113', display: 'Security Alert' }

export type Action = 'C' | 'R' | 'U' | 'D' | 'E'

interface Kind {
  readonly type: AuditCode
  readonly subtype: AuditCode
  readonly action: Action
}

const own = (code: string, display?: string): AuditCode => ({
  system: 'urn:refhir:audit-event',
  code,
  ...(display !== undefined && { display }),
})
const rest = (code: string, action: Action): Kind => ({
  type: REST,
  subtype: { system: 'http://hl7.org/fhir/restful-interaction', code, display: code },
  action,
})

const CODED: Readonly<Record<EventKind, Kind>> = {
  read: rest('read', 'R'),
  vread: rest('vread', 'R'),
  update: rest('update', 'U'),
  patch: rest('patch', 'U'),
  delete: rest('delete', 'D'),
  'history-instance': rest('history-instance', 'R'),
  'history-type': rest('history-type', 'R'),
  'history-system': rest('history-system', 'R'),
  create: rest('create', 'C'),
  'search-type': rest('search-type', 'E'),
  'search-system': rest('search-system', 'E'),
  capabilities: rest('capabilities', 'R'),
  transaction: rest('transaction', 'E'),
  batch: rest('batch', 'E'),
  operation: rest('operation', 'E'),
  admin: { type: LOG_USED, subtype: own('admin', 'Administrative read'), action: 'R' },
  auth: { type: AUTHENTICATION, subtype: { system: DICOM, code: '110122', display: 'Login' }, action: 'E' },
  start: {
    type: APPLICATION,
    subtype: { system: DICOM, code: '110120', display: 'Application Start' },
    action: 'E',
  },
  stop: { type: APPLICATION, subtype: { system: DICOM, code: '110121', display: 'Application Stop' }, action: 'E' },
  sampled: { type: REST, subtype: own('sampled', 'Refusals that were only counted'), action: 'E' },
  prune: { type: LOG_USED, subtype: own('prune', 'Events older than the retention were pruned'), action: 'D' },
  rekey: {
    type: ALERT,
    subtype: { system: DICOM, code: '110129', display: 'Security Configuration' },
    action: 'U',
  },
  alarm: { type: ALERT, subtype: own('alarm', 'The trail was changed by somebody else'), action: 'E' },
  restore: { type: ALERT, subtype: own('restore', 'The database was made of a backup'), action: 'U' },
  request: { type: REST, subtype: own('request', 'Refused before it was known what is asked for'), action: 'E' },
}

const BY_METHOD: Readonly<Record<string, Action>> = {
  GET: 'R',
  HEAD: 'R',
  POST: 'C',
  PUT: 'U',
  PATCH: 'U',
  DELETE: 'D',
}

/** `operation` is the method of a `request`. */
export const actionOf = (kind: EventKind, operation: string | undefined): Action =>
  kind === 'request' ? (BY_METHOD[operation ?? ''] ?? 'E') : CODED[kind].action

export const codedAs = (kind: EventKind): Kind => CODED[kind]

/** The operations login, token, revoke and register of `auth` have subtypes of their own. */
export const subtypesOf = (kind: EventKind, operation: string | undefined): readonly AuditCode[] => {
  const { subtype } = CODED[kind]
  if (operation === undefined || kind === 'request') return [subtype]
  if (kind === 'auth') return operation === 'login' ? [subtype] : [own(operation)]
  return [subtype, own(kind === 'operation' ? `$${operation}` : operation)]
}
