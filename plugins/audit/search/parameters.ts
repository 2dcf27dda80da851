/**
 * Parses the query of GET /_audit into clauses. Names and prefixes are those of the search on AuditEvent.
 * https://hl7.org/fhir/R4/auditevent.html#search
 */
import type { SqlParam } from '../../database/service.ts'
import { filterKeyOf } from '../blocks/bloom-filter.ts'
import { AuditParameterUnknown, AuditParameterValue } from '../errors.ts'
import { type EventKind, eventCode, KINDS } from '../event.ts'
import { actionOf } from '../fhir/kinds.ts'
import { encodeId } from '../id.ts'
import type { Row } from '../tables.ts'
import { anyBlockQuery, type BlockQuery } from './block-query.ts'
import { readTimeRange } from './time-range.ts'

const USUAL = 50
const MAX_PAGE = 1_000
const LATEST = Number.MAX_SAFE_INTEGER

/** A clause on `audit_event`: as SQL for rows, and as a function for events of a batch. */
export interface AuditClause extends BlockQuery {
  readonly text: string
  readonly params: readonly SqlParam[]
  readonly holds: (row: Row) => boolean
}

export interface AuditQuery {
  readonly conditions: readonly AuditClause[]
  /** Undefined when not given. */
  readonly count: number | undefined
  /** Number of the last event of the page before. */
  readonly page: number | undefined
  readonly format: string | undefined
}

const anyOf = (conditions: readonly AuditClause[]): AuditClause => ({
  text: `(${conditions.map(({ text }) => text).join(' OR ')})`,
  params: conditions.flatMap(({ params }) => params),
  holds: (row) => conditions.some(({ holds }) => holds(row)),
  ...anyBlockQuery(conditions),
})

const isSame = (one: Uint8Array | null, other: Uint8Array): boolean => one !== null && Buffer.compare(one, other) === 0

const REFERENCE = /^([A-Z][A-Za-z]{1,63})\/([A-Za-z0-9\-.]{1,64})(?:\/_history\/(\d{1,9}))?$/
const ID = /^[A-Za-z0-9\-.]{1,64}$/

const date = (value: string): AuditClause => {
  const [, prefix = 'eq', moment = ''] = /^(eq|ne|gt|lt|ge|le|sa|eb)?(.*)$/.exec(value) ?? []
  const span = readTimeRange(moment.replace(' ', '+'))
  if (span === undefined) throw AuditParameterValue('date', 'a date or instant such as ge2024-02-29T12:00:00Z')
  const { from, to } = span
  switch (prefix) {
    case 'ne':
      return { text: '(at < ? OR at >= ?)', params: [from, to], holds: ({ at }) => at < from || at >= to }
    case 'gt':
    case 'sa':
      return { text: 'at >= ?', params: [to], holds: ({ at }) => at >= to, time: [to, LATEST] }
    case 'lt':
    case 'eb':
      return { text: 'at < ?', params: [from], holds: ({ at }) => at < from, time: [-LATEST, from] }
    case 'ge':
      return { text: 'at >= ?', params: [from], holds: ({ at }) => at >= from, time: [from, LATEST] }
    case 'le':
      return { text: 'at < ?', params: [to], holds: ({ at }) => at < to, time: [-LATEST, to] }
    default:
      return {
        text: '(at >= ? AND at < ?)',
        params: [from, to],
        holds: ({ at }) => at >= from && at < to,
        time: [from, to],
      }
  }
}

const patient = (value: string): AuditClause => {
  const id = value.startsWith('Patient/') ? value.slice('Patient/'.length) : value
  if (!ID.test(id)) throw AuditParameterValue('patient', 'Patient/[id] or an id')
  const packed = encodeId(id)
  return {
    text: 'patient = ?',
    params: [packed],
    holds: (row) => isSame(row.patient, packed),
    keys: [filterKeyOf('patient', packed)],
  }
}

const entity = (value: string): AuditClause => {
  const [, type = '', id = '', version] = REFERENCE.exec(value) ?? []
  if (type === '') throw AuditParameterValue('entity', 'a reference such as Observation/[id]')
  const packed = encodeId(id)
  const itself: AuditClause = {
    text: version === undefined ? '(id = ? AND type = ?)' : '(id = ? AND type = ? AND ver = ?)',
    params: version === undefined ? [packed, type] : [packed, type, Number(version)],
    holds: (row) =>
      isSame(row.id, packed) && row.type === type && (version === undefined || row.ver === Number(version)),
    keys: [filterKeyOf('id', packed)],
  }
  // An event about a Patient resource matches as its entity and as its patient.
  return type === 'Patient' && version === undefined ? anyOf([itself, patient(value)]) : itself
}

const agent = (value: string): AuditClause => {
  const column = REFERENCE.test(value) ? 'person' : 'client'
  return {
    text: `${column} = ?`,
    params: [value],
    holds: (row) => row[column] === value,
    keys: [filterKeyOf(column, value)],
  }
}

const kinds = (wanted: (kind: EventKind) => boolean): string => KINDS.filter(wanted).map(eventCode).join(', ')

const METHOD_CODES: Readonly<Record<'C' | 'R' | 'U' | 'D' | 'E', readonly string[]>> = {
  C: ['POST'],
  R: ['GET', 'HEAD'],
  U: ['PUT', 'PATCH'],
  D: ['DELETE'],
  E: ['OPTIONS'],
}

const action = (value: string): AuditClause => {
  if (!/^[CRUDE]$/.test(value)) throw AuditParameterValue('action', 'C, R, U, D or E')
  // A request that was refused before its interaction was known has the action of its method.
  const methods = METHOD_CODES[value as keyof typeof METHOD_CODES]
  const isOf = (kind: EventKind): boolean => kind !== 'request' && actionOf(kind, undefined) === value
  const refused = eventCode('request')
  return {
    text: `(kind IN (${kinds(isOf)}) OR (kind = ${refused} AND operation IN (${methods.map((one) => `'${one}'`).join(', ')})))`,
    params: [],
    holds: ({ kind, operation }) =>
      kind === refused ? methods.includes(operation ?? '') : isOf(KINDS[kind] as EventKind),
  }
}

/** From the first, inclusive, to the second, exclusive. Outcome 12, a major failure, is never recorded. */
const STATUSES: Readonly<Record<string, readonly [number, number]>> = {
  '0': [0, 400],
  '4': [400, 500],
  '8': [500, 1_000],
  '12': [0, 0],
}

const outcome = (value: string): AuditClause => {
  const [from, to] = Object.hasOwn(STATUSES, value) ? (STATUSES[value] ?? []) : []
  if (from === undefined || to === undefined) throw AuditParameterValue('outcome', '0, 4, 8 or 12')
  return {
    text: '(status >= ? AND status < ?)',
    params: [from, to],
    holds: ({ status }) => status >= from && status < to,
  }
}

const subtype = (value: string): AuditClause => {
  const code = kinds((kind) => kind === value)
  if (code === '') throw AuditParameterValue('subtype', `one of ${KINDS.join(', ')}`)
  return { text: `kind IN (${code})`, params: [], holds: ({ kind }) => KINDS[kind] === value }
}

const READERS: Readonly<Record<string, (value: string) => AuditClause>> = {
  date,
  agent,
  patient,
  entity,
  action,
  outcome,
  subtype,
  address: (value) => ({ text: 'address = ?', params: [value], holds: ({ address }) => address === value }),
  _id: (value) => {
    if (!/^[1-9]\d{0,14}$/.test(value)) throw AuditParameterValue('_id', 'the id of an event, a number')
    const seq = Number(value)
    return { text: 'seq = ?', params: [seq], holds: (row) => row.seq === seq, rows: [seq, seq] }
  },
}
const STEERING = ['_count', '_page', '_format', '_pretty']
const KNOWN = [...Object.keys(READERS), ...STEERING]

const readPage = (value: string): number => {
  if (!/^[1-9]\d{0,14}$/.test(value)) throw AuditParameterValue('_page', 'what a next link of this server holds')
  return Number(value)
}

const readCount = (value: string): number => {
  if (!/^[1-9]\d{0,8}$/.test(value)) throw AuditParameterValue('_count', 'a positive integer')
  return Number(value)
}

/**
 * Throws 400 for an unknown parameter or a malformed value. Parameters given twice must both match; of values separated
 * by commas one must.
 */
export const readAuditQuery = (url: string): AuditQuery => {
  const start = url.indexOf('?')
  const given = start === -1 ? [] : [...new URLSearchParams(url.slice(start + 1))]
  const conditions: AuditClause[] = []
  const steering = new Map<string, string>()
  for (const [name, value] of given) {
    const read = Object.hasOwn(READERS, name) ? READERS[name] : undefined
    if (read !== undefined) conditions.push(anyOf(value.split(',').map(read)))
    else if (!STEERING.includes(name)) throw AuditParameterUnknown(name.slice(0, 64), KNOWN.join(', '))
    else if (steering.has(name)) throw AuditParameterValue(name, 'one value; it is given twice')
    else steering.set(name, value)
  }
  const count = steering.get('_count')
  const page = steering.get('_page')
  return {
    conditions,
    count: count === undefined ? undefined : readCount(count),
    page: page === undefined ? undefined : readPage(page),
    format: steering.get('_format'),
  }
}

/** Events of a page. */
export const pageSize = ({ count = USUAL }: AuditQuery): number => Math.min(count, MAX_PAGE)
