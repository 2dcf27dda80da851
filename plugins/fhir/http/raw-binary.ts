/**
 * POST and PUT of content that is no FHIR at `/Binary`: the body becomes the data of a Binary, its Content-Type the
 * contentType, X-Security-Context the securityContext. The result is FHIR JSON in bytes, which takes the way of every
 * other body. https://hl7.org/fhir/R4/binary.html#rest
 */
import { setImmediate } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { readLiteral, topLevelStrings } from '../../model/service.ts'
import { BinaryEmpty, BodyType, HeaderMalformed, SecurityContextHeader } from '../errors.ts'
import { isMediaType } from '../response/binary-content.ts'
import { checkContentType, nameOf } from './media.ts'

/** The addresses of a create and of an update. */
const ADDRESS = /\/:type(?:\/:id)?\/?$/
const CHUNK_BYTES = 3 * 256 * 1024 // a multiple of three: base64 of the parts is base64 of the whole

const FHIR_JSON = new Set(['application/fhir+json', 'application/json+fhir'])
const PLAIN_JSON = new Set(['application/json', 'text/json'])
const OTHER_FHIR = /^application\/(?:fhir\+.*|xml\+fhir)$/

const contextOf = ({ headers }: FastifyRequest): string | undefined => {
  const given = headers['x-security-context']
  if (given === undefined) return undefined
  if (typeof given !== 'string' || readLiteral(given.trim()) === undefined)
    throw HeaderMalformed('X-Security-Context', 'Patient/1, once')
  return given.trim()
}

const isBinaryResource = async (bytes: Buffer): Promise<boolean> => {
  const name = (await topLevelStrings(bytes, ['resourceType'])).get('resourceType')
  return name !== undefined && bytes.toString('latin1', name.start, name.end) === 'Binary'
}

/** `id`: of an update at an address. The data is encoded in parts, between which others are answered. */
const toJson = async (
  content: Buffer,
  contentType: string,
  securityContext: string | undefined,
  id: string | undefined,
): Promise<Buffer> => {
  const described = {
    resourceType: 'Binary',
    id,
    contentType,
    securityContext: securityContext === undefined ? undefined : { reference: securityContext },
  }
  const head = Buffer.from(`${JSON.stringify(described).slice(0, -1)},"data":"`)
  // Shared: where it is large, a thread reads it as it lies.
  const out = Buffer.from(new SharedArrayBuffer(head.length + Math.ceil(content.length / 3) * 4 + 2))
  let end = head.copy(out)
  for (let at = 0; at < content.length; at += CHUNK_BYTES) {
    if (at > 0) await setImmediate()
    end += out.write(content.toString('base64', at, Math.min(at + CHUNK_BYTES, content.length)), end, 'latin1')
  }
  out.write('"}', end, 'latin1')
  return out
}

export const rawBinary = {
  /** Is it a request whose body may be raw content? */
  concerns: ({ method, routeOptions, params }: FastifyRequest): boolean =>
    (method === 'POST' || method === 'PUT') &&
    (params as { readonly type?: string }).type === 'Binary' &&
    ADDRESS.test(routeOptions.url ?? ''),

  /** Before the body is read. Throws 415 for another form of FHIR than JSON, 400 for headers that cannot be read. */
  check(request: FastifyRequest, contentType: string): void {
    const name = nameOf(contentType)
    const context = contextOf(request)
    if (FHIR_JSON.has(name)) {
      checkContentType(contentType)
      if (context !== undefined) throw SecurityContextHeader()
      return
    }
    if (OTHER_FHIR.test(name)) throw BodyType(contentType.slice(0, 100))
    if (!isMediaType(contentType)) throw HeaderMalformed('Content-Type', 'application/pdf or text/plain; charset=utf-8')
  },

  /** FHIR JSON of the Binary. JSON that is a Binary itself is taken as that. Throws 400 where there is no content. */
  async read(request: FastifyRequest, contentType: string, bytes: Buffer): Promise<Buffer> {
    const name = nameOf(contentType)
    if (FHIR_JSON.has(name)) return bytes
    const context = contextOf(request)
    if (PLAIN_JSON.has(name) && (await isBinaryResource(bytes))) {
      checkContentType(contentType)
      if (context !== undefined) throw SecurityContextHeader()
      return bytes
    }
    if (bytes.length === 0) throw BinaryEmpty()
    const { id } = request.params as { readonly id?: string }
    // A code has single spaces only.
    return toJson(bytes, contentType.trim().replaceAll(/[ \t]+/g, ' '), context, id)
  },
} as const
