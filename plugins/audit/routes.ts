/**
 * GET /_audit, GET /_audit/verify, GET /AuditEvent and GET /AuditEvent/[number]. They require system/AuditEvent.read,
 * and their use is recorded itself. Spec: Endpoints.
 */
import { Readable } from 'node:stream'
import type { FastifyPluginCallback } from 'fastify'
import { type AdminAnswer, mountAdmin, type RequestContext, type Runners } from '../../kernel/index.ts'
import { AuditParameterUnknown, AuditParameterValue, EventUnknown, FormatRefused } from './errors.ts'
import { toAuditEvent } from './fhir/audit-event.ts'
import { toBundle, toLines } from './search/answer.ts'
import type { AuditSearch } from './search/find.ts'
import { readAuditQuery } from './search/parameters.ts'
import type { Checkpoint, Verdict } from './verify/walk.ts'

export interface AuditRouteParts {
  readonly run: Runners
  /** Writes the queued events, so that the answer includes them. */
  readonly flush: () => Promise<void>
  readonly finder: AuditSearch
  /** Id of the audit trail, hexadecimal. */
  readonly chain: () => Promise<string>
  readonly verify: (checkpoint: Checkpoint | undefined, signal: AbortSignal) => Promise<Verdict>
}

const FHIR_JSON = 'application/fhir+json; charset=utf-8'
const NDJSON = 'application/fhir+ndjson'
const JSON_TYPE = 'application/json; charset=utf-8'

const FORMATS: ReadonlyMap<string, 'json' | 'ndjson'> = new Map([
  ['json', 'json'],
  ['application/json', 'json'],
  ['application/fhir+json', 'json'],
  ['ndjson', 'ndjson'],
  ['application/ndjson', 'ndjson'],
  ['application/x-ndjson', 'ndjson'],
  [NDJSON, 'ndjson'],
])

/** The format of `_format`, else of Accept. A plus sign in a URL may arrive as a space. Throws 406. */
const formatOf = (format: string | undefined, accept: string | undefined): 'json' | 'ndjson' => {
  const wanted = format === undefined ? (accept ?? '*/*').split(',') : [format.replace(' ', '+')]
  for (const one of wanted) {
    const type = one.split(';')[0]?.trim().toLowerCase() ?? ''
    const found = type === '*/*' || type === 'application/*' || type === '' ? 'json' : FORMATS.get(type)
    if (found !== undefined) return found
  }
  throw FormatRefused()
}

/** The number of an event in the URL, and the requested format. Throws 400, 406. */
const readEventAddress = ({ url, headers }: RequestContext) => {
  const [path = '', query = ''] = url.split('?')
  const given = new URLSearchParams(query)
  for (const name of given.keys())
    if (name !== '_format' && name !== '_pretty') throw AuditParameterUnknown(name.slice(0, 64), '_format, _pretty')
  return {
    id: path.slice(path.lastIndexOf('/') + 1),
    format: formatOf(given.get('_format') ?? undefined, headers.accept),
  }
}

/** `seq` and `mac` of a checkpoint, both or neither. */
const readCheckpoint = (url: string): Checkpoint | undefined => {
  const start = url.indexOf('?')
  const given = new URLSearchParams(start === -1 ? '' : url.slice(start + 1))
  for (const name of given.keys())
    if (name !== 'seq' && name !== 'mac' && name !== '_pretty')
      throw AuditParameterUnknown(name.slice(0, 64), 'seq, mac, _pretty')
  const seq = given.get('seq')
  const mac = given.get('mac')
  if (seq === null && mac === null) return undefined
  if (seq === null || !/^\d{1,15}$/.test(seq))
    throw AuditParameterValue('seq', 'the number of a checkpoint, with its mac')
  if (mac === null || !/^[0-9a-f]{64}$/.test(mac))
    throw AuditParameterValue('mac', 'the 64 digits of a checkpoint, with its seq')
  return { seq: Number(seq), mac }
}

export const auditRoutes =
  ({ run, flush, finder, chain, verify }: AuditRouteParts): FastifyPluginCallback =>
  (app, _options, done) => {
    const find = async (request: RequestContext): Promise<AdminAnswer> => {
      const asked = readAuditQuery(request.url)
      const format = formatOf(asked.format, request.headers.accept)
      await flush()
      if (format === 'json') return { type: FHIR_JSON, body: await toBundle(finder, request, asked, await chain()) }
      return { type: NDJSON, body: Readable.from(toLines(finder, request, asked, await chain())) }
    }
    mountAdmin(app, run, { path: '/_audit', beforeRelay: flush, answer: find })
    // The same search under its FHIR type: an empty answer of stored resources would look as if nothing had happened.
    mountAdmin(app, run, { path: '/AuditEvent', operation: '_audit', isWhole: false, beforeRelay: flush, answer: find })
    mountAdmin(app, run, {
      // Only numbers: other ids are AuditEvents that clients stored while this plugin was disabled.
      path: '/AuditEvent/:id(^[1-9]\\d{0,14}$)',
      operation: '_audit',
      isWhole: false,
      beforeRelay: flush,
      async answer(request) {
        const { id, format } = readEventAddress(request)
        await flush()
        const [row] = await finder.findInTime(readAuditQuery(`/?_id=${id}`).conditions, undefined, 1, request.signal)
        if (row === undefined) throw EventUnknown(id)
        return { type: format === 'json' ? FHIR_JSON : NDJSON, body: JSON.stringify(toAuditEvent(row, await chain())) }
      },
    })
    mountAdmin(app, run, {
      path: '/_audit/verify',
      beforeRelay: flush,
      async answer(request) {
        const checkpoint = readCheckpoint(request.url)
        await flush()
        return { type: JSON_TYPE, body: JSON.stringify(await verify(checkpoint, request.signal)) }
      },
    })
    done()
  }
