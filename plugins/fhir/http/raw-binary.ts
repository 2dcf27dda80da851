/**
 * POST and PUT of raw content at `/Binary`: the body becomes `data` of a Binary, Content-Type its `contentType`,
 * X-Security-Context its `securityContext`. The result is the bytes of FHIR JSON, which are processed like any other
 * body. https://hl7.org/fhir/R4/binary.html#rest
 */
import { setImmediate } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { FHIR_NAMESPACE, readLiteral, topLevelStrings } from '../../model/service.ts'
import { BinaryEmpty, BodyType, HeaderMalformed, SecurityContextHeader } from '../errors.ts'
import { isMediaType } from '../response/binary-content.ts'
import type { XmlConversion } from '../xml/conversion.ts'
import { isXmlType, nameOf, readContentType } from './media.ts'

/** The routes of a create and of an update. */
const ADDRESS = /\/:type(?:\/:id)?\/?$/
const CHUNK_BYTES = 3 * 256 * 1024 // a multiple of three, so that the base64 of the parts can be joined

const FHIR_TYPES = new Set([
  ...['application/fhir+json', 'application/json+fhir'],
  ...['application/fhir+xml', 'application/xml+fhir'],
])
const PLAIN_JSON = new Set(['application/json', 'text/json'])
const PLAIN_XML = new Set(['application/xml', 'text/xml'])
const OTHER_FHIR = /^application\/fhir\+/

const contextOf = ({ headers }: FastifyRequest): string | undefined => {
  const given = headers['x-security-context']
  if (given === undefined) return undefined
  if (typeof given !== 'string' || readLiteral(given.trim()) === undefined)
    throw HeaderMalformed('X-Security-Context', 'Patient/1, once')
  return given.trim()
}

const isBinaryInXml = async (xml: Pick<XmlConversion, 'rootOf'>, bytes: Buffer): Promise<boolean> => {
  const root = await xml.rootOf(bytes)
  return root?.name === 'Binary' && root.namespace === FHIR_NAMESPACE
}

const isBinaryInJson = async (bytes: Buffer): Promise<boolean> => {
  const name = (await topLevelStrings(bytes, ['resourceType'])).get('resourceType')
  return name !== undefined && bytes.toString('latin1', name.start, name.end) === 'Binary'
}

/** `id` is that of an update. Encodes the data in parts; other requests are answered in between. */
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
  // In shared memory, so that a thread can read a large body without a copy.
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
  /** True for a request whose body may be raw content. */
  concerns: ({ method, routeOptions, params }: FastifyRequest): boolean =>
    (method === 'POST' || method === 'PUT') &&
    (params as { readonly type?: string }).type === 'Binary' &&
    ADDRESS.test(routeOptions.url ?? ''),

  /** Called before the body is read. Throws 415 for FHIR in another format than JSON and XML, 400 for malformed headers. */
  check(request: FastifyRequest, contentType: string): void {
    const name = nameOf(contentType)
    const context = contextOf(request)
    if (FHIR_TYPES.has(name)) {
      readContentType(contentType)
      if (context !== undefined) throw SecurityContextHeader()
      return
    }
    if (OTHER_FHIR.test(name)) throw BodyType(contentType.slice(0, 100))
    if (!isMediaType(contentType)) throw HeaderMalformed('Content-Type', 'application/pdf or text/plain; charset=utf-8')
  },

  /**
   * The Binary as FHIR JSON. A JSON body that is a Binary resource already is returned as it is, and one in XML is
   * converted. Throws 400 for an empty body.
   */
  async read(
    request: FastifyRequest,
    contentType: string,
    bytes: Buffer,
    xml: Pick<XmlConversion, 'read' | 'rootOf'>,
  ): Promise<unknown> {
    const name = nameOf(contentType)
    const resource = (): unknown => (isXmlType(contentType) ? xml.read(request.ctx, bytes) : bytes)
    if (FHIR_TYPES.has(name)) return resource()
    const context = contextOf(request)
    const isResource =
      (PLAIN_JSON.has(name) && (await isBinaryInJson(bytes))) ||
      (PLAIN_XML.has(name) && (await isBinaryInXml(xml, bytes)))
    if (isResource) {
      readContentType(contentType)
      if (context !== undefined) throw SecurityContextHeader()
      return resource()
    }
    if (bytes.length === 0) throw BinaryEmpty()
    const { id } = request.params as { readonly id?: string }
    // A FHIR code has single spaces only.
    return toJson(bytes, contentType.trim().replaceAll(/[ \t]+/g, ' '), context, id)
  },
} as const
