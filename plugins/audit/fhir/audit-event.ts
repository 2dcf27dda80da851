/**
 * Converts a row to a FHIR AuditEvent as in IHE's Basic Audit Log Patterns: the server and the client are two agents,
 * the user is a third one, and entities name the resource, the patient and the request.
 */
import { type EventKind, KINDS } from '../event.ts'
import { decodeId } from '../id.ts'
import type { Row } from '../tables.ts'
import { type AuditCode, actionOf, codedAs, DICOM, subtypesOf } from './kinds.ts'

const ENTITY_TYPE = 'http://terminology.hl7.org/CodeSystem/audit-entity-type'
const OBJECT_ROLE = 'http://terminology.hl7.org/CodeSystem/object-role'
const SOURCE: AuditCode = { system: DICOM, code: '110153', display: 'Source Role ID' }
const DESTINATION: AuditCode = { system: DICOM, code: '110152', display: 'Destination Role ID' }
const USER: AuditCode = {
  system: 'http://terminology.hl7.org/CodeSystem/v3-ParticipationType',
  code: 'IRCP',
  display: 'information recipient',
}
const REQUEST_ID: AuditCode = {
  system: 'https://profiles.ihe.net/ITI/BALP/CodeSystem/BasicAuditEntityType',
  code: 'XrequestId',
}
const IP_ADDRESS = '2'

/** Kinds that send data to the client: the server is the source in them. */
const LEAVES = new Set<EventKind>(['read', 'vread', 'history-instance', 'history-type', 'history-system', 'admin'])
const SEARCHES = new Set<EventKind>(['search-type', 'search-system', 'history-type', 'history-system'])
const OWN = new Set<EventKind>(['start', 'stop', 'sampled', 'prune', 'rekey', 'alarm', 'restore'])

const ISSUES: Readonly<Record<number, string>> = {
  401: 'login',
  403: 'forbidden',
  404: 'not-found',
  405: 'not-supported',
  406: 'not-supported',
  409: 'conflict',
  410: 'deleted',
  412: 'conflict',
  413: 'too-long',
  415: 'not-supported',
  422: 'processing',
  429: 'throttled',
  503: 'transient',
  507: 'no-store',
}

const outcomeOf = (status: number): '0' | '4' | '8' => (status < 400 ? '0' : status < 500 ? '4' : '8')

const agentsOf = (row: Row, kind: EventKind) => {
  const server = {
    type: { coding: [LEAVES.has(kind) ? SOURCE : DESTINATION] },
    who: { display: 'refhir' },
    requestor: OWN.has(kind),
  }
  if (OWN.has(kind)) return [server]
  const policy = row.token === null ? {} : { policy: [row.token] }
  const client = {
    type: { coding: [LEAVES.has(kind) ? DESTINATION : SOURCE] },
    who: row.client === null ? { display: 'anonymous' } : { identifier: { value: row.client } },
    requestor: row.person === null,
    ...(row.person === null && policy),
    ...(row.address !== null && { network: { address: row.address, type: IP_ADDRESS } }),
  }
  if (row.person === null) return [server, client]
  const who = /^[A-Z][A-Za-z]*\//.test(row.person) ? { reference: row.person } : { identifier: { value: row.person } }
  return [server, client, { type: { coding: [USER] }, who, requestor: true, ...policy }]
}

const coding = (system: string, code: string, display: string): AuditCode => ({ system, code, display })
const SYSTEM_OBJECT = coding(ENTITY_TYPE, '2', 'System Object')

const dataOf = ({ type, id, ver }: Row): object | undefined => {
  if (type === null || id === null) return undefined
  const version = ver === null ? '' : `/_history/${ver}`
  return {
    what: { reference: `${type}/${decodeId(id)}${version}` },
    type: SYSTEM_OBJECT,
    role: coding(OBJECT_ROLE, '4', 'Domain Resource'),
  }
}

const queryOf = (row: Row, kind: EventKind): object | undefined => {
  if (!SEARCHES.has(kind)) return undefined
  return {
    ...(row.type !== null && { what: { type: row.type, display: row.type } }),
    type: SYSTEM_OBJECT,
    role: coding(OBJECT_ROLE, '24', 'Query'),
    ...(row.query !== null && { query: Buffer.from(row.query, 'utf8').toString('base64') }),
  }
}

/** The scopes that a consent or a token has given. */
const scopesOf = ({ query }: Row, kind: EventKind): object | undefined =>
  kind !== 'auth' || query === null
    ? undefined
    : { type: SYSTEM_OBJECT, detail: query.split(' ').map((scope) => ({ type: 'scope', valueString: scope })) }

const patientOf = ({ patient }: Row): object | undefined =>
  patient === null
    ? undefined
    : {
        what: { reference: `Patient/${decodeId(patient)}` },
        type: coding(ENTITY_TYPE, '1', 'Person'),
        role: coding(OBJECT_ROLE, '1', 'Patient'),
      }

const requestOf = ({ request }: Row): object | undefined =>
  request === null ? undefined : { what: { identifier: { value: decodeId(request) } }, type: REQUEST_ID }

/** True when `number` marks a refusal about a hidden resource, which `outcomeEntity` shows. */
const saysHidden = ({ status, number }: Row, kind: EventKind): boolean =>
  number !== null && outcomeOf(status) !== '0' && !OWN.has(kind)

const numberOf = (row: Row, kind: EventKind): object | undefined =>
  row.number === null || saysHidden(row, kind)
    ? undefined
    : { type: SYSTEM_OBJECT, detail: [{ type: kind === 'prune' ? 'upto' : 'count', valueString: String(row.number) }] }

const HIDDEN = [{ type: 'hidden', valueString: 'true' }]

const outcomeEntity = (row: Row, kind: EventKind): object | undefined =>
  outcomeOf(row.status) === '0'
    ? undefined
    : { what: { reference: '#outcome' }, type: SYSTEM_OBJECT, ...(saysHidden(row, kind) && { detail: HIDDEN }) }

const toOutcome = (status: number): object => {
  const code = ISSUES[status] ?? (status < 500 ? 'invalid' : 'exception')
  return { resourceType: 'OperationOutcome', id: 'outcome', issue: [{ severity: 'error', code }] }
}

/** `chain` is the hexadecimal id of the audit trail. */
export const toAuditEvent = (row: Row, chain: string): object => {
  const kind = KINDS[row.kind] ?? 'request'
  const operation = row.operation ?? undefined
  const outcome = outcomeOf(row.status)
  const entity = [dataOf, queryOf, scopesOf, patientOf, outcomeEntity, requestOf, numberOf]
    .map((make) => make(row, kind))
    .filter((one) => one !== undefined)
  return {
    resourceType: 'AuditEvent',
    id: String(row.seq),
    ...(outcome !== '0' && { contained: [toOutcome(row.status)] }),
    type: codedAs(kind).type,
    subtype: subtypesOf(kind, operation),
    action: actionOf(kind, operation),
    recorded: new Date(row.at).toISOString(),
    outcome,
    ...(outcome !== '0' && !OWN.has(kind) && { outcomeDesc: `HTTP ${row.status}` }),
    agent: agentsOf(row, kind),
    source: { observer: { identifier: { system: 'urn:refhir:audit-trail', value: chain }, display: 'refhir' } },
    ...(entity.length > 0 && { entity }),
  }
}
