/** GET /_audit and GET /_audit/verify. They ask for system/AuditEvent.read, and are themselves recorded. Spec: Endpoints. */
import { Readable } from 'node:stream'
import type { FastifyPluginCallback } from 'fastify'
import { mountAdmin, type Runners } from '../../kernel/index.ts'
import { FormatRefused, ParameterUnknown, ParameterValue } from './errors.ts'
import { toBundle, toLines } from './search/answer.ts'
import type { Finder } from './search/find.ts'
import { readAsked } from './search/parameters.ts'
import type { Checkpoint, Verdict } from './verify/walk.ts'

export interface AuditRouteParts {
  readonly run: Runners
  /** Writes what still waits, so that who asks sees all there is. */
  readonly flush: () => Promise<void>
  readonly finder: Finder
  /** Id of the trail, hexadecimal. */
  readonly chain: () => Promise<string>
  readonly verify: (checkpoint: Checkpoint | undefined, signal: AbortSignal) => Promise<Verdict>
}

const FHIR_JSON = 'application/fhir+json; charset=utf-8'
const NDJSON = 'application/fhir+ndjson'
const JSON_TYPE = 'application/json; charset=utf-8'

const FORMATS: Readonly<Record<string, 'json' | 'ndjson'>> = {
  json: 'json',
  'application/json': 'json',
  'application/fhir+json': 'json',
  ndjson: 'ndjson',
  'application/ndjson': 'ndjson',
  'application/x-ndjson': 'ndjson',
  [NDJSON]: 'ndjson',
}

/** `_format`, else Accept; a plus sign in a URL may arrive as a space. Throws 406. */
const formatOf = (format: string | undefined, accept: string | undefined): 'json' | 'ndjson' => {
  const wanted = format === undefined ? (accept ?? '*/*').split(',') : [format.replace(' ', '+')]
  for (const one of wanted) {
    const type = one.split(';')[0]?.trim().toLowerCase() ?? ''
    const found = type === '*/*' || type === 'application/*' || type === '' ? 'json' : FORMATS[type]
    if (found !== undefined) return found
  }
  throw FormatRefused()
}

/** `seq` and `mac` of a checkpoint, both or neither. */
const readCheckpoint = (url: string): Checkpoint | undefined => {
  const start = url.indexOf('?')
  const given = new URLSearchParams(start === -1 ? '' : url.slice(start + 1))
  for (const name of given.keys())
    if (name !== 'seq' && name !== 'mac') throw ParameterUnknown(name.slice(0, 64), 'seq, mac')
  const seq = given.get('seq')
  const mac = given.get('mac')
  if (seq === null && mac === null) return undefined
  if (seq === null || !/^\d{1,15}$/.test(seq)) throw ParameterValue('seq', 'the number of a checkpoint, with its mac')
  if (mac === null || !/^[0-9a-f]{64}$/.test(mac))
    throw ParameterValue('mac', 'the 64 digits of a checkpoint, with its seq')
  return { seq: Number(seq), mac }
}

export const auditRoutes =
  ({ run, flush, finder, chain, verify }: AuditRouteParts): FastifyPluginCallback =>
  (app, _options, done) => {
    mountAdmin(app, run, {
      path: '/_audit',
      async answer(request) {
        const asked = readAsked(request.url)
        const format = formatOf(asked.format, request.headers.accept)
        await flush()
        if (format === 'json') return { type: FHIR_JSON, body: await toBundle(finder, request, asked, await chain()) }
        return { type: NDJSON, body: Readable.from(toLines(finder, request, asked, await chain())) }
      },
    })
    mountAdmin(app, run, {
      path: '/_audit/verify',
      async answer(request) {
        const checkpoint = readCheckpoint(request.url)
        await flush()
        return { type: JSON_TYPE, body: JSON.stringify(await verify(checkpoint, request.signal)) }
      },
    })
    done()
  }
