/**
 * Turns the result of an interaction into an HTTP answer: status, ETag, Last-Modified, Location, body.
 * https://hl7.org/fhir/R4/http.html#ops
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type DirectAnswer, type Issue, indentJson, type RequestContext, sendAnswer } from '../../../kernel/index.ts'
import type { StoredVersion } from '../../storage/service.ts'
import { acceptsGzip, FHIR_JSON } from '../http/media.ts'
import { type Answer, isLocated } from '../interactions/answer.ts'
import { isTransformed, presentVersion } from '../presentation/present.ts'
import { AS_STORED } from '../presentation/presentation-parameters.ts'
import type { XmlConversion } from '../xml/conversion.ts'
import { toXmlAnswer } from '../xml/xml-answer.ts'
import { type XmlForm, xmlFormOf } from '../xml/xml-form.ts'
import { SAFETY_HEADERS } from './binary-content.ts'
import { toETag } from './etag.ts'

const NOT_MODIFIED = 304

const versionHead = ({ version, httpDate }: StoredVersion): string[] => [
  ...['etag', toETag(version)],
  ...['last-modified', httpDate],
]

/**
 * What the answers to reads of a version differ by, also where they have no body. Accept decides between JSON, XML and the
 * content of a Binary. RFC 9110, section 15.4.5.
 */
const variesBy = ({ gzip }: StoredVersion): string => (gzip ? 'accept, accept-encoding' : 'accept')

const contentHead = (version: StoredVersion): string[] => {
  const head = versionHead(version)
  head.push('content-type', FHIR_JSON, 'vary', variesBy(version))
  if (version.type === 'Binary') head.push(...SAFETY_HEADERS)
  return head
}

/** Headers of a stored version, sent as its text or as its gzip bytes. */
const storedHead = (version: StoredVersion, form: 'text' | 'bytes'): string[] => {
  const head = contentHead(version)
  if (form === 'bytes') head.push('content-encoding', 'gzip')
  return head
}

export const versionPath = ({ type, id, version }: StoredVersion): string => `${type}/${id}/_history/${version}`

const versionUrl = ({ baseUrl }: RequestContext, version: StoredVersion): string => `${baseUrl}/${versionPath(version)}`

/** An OperationOutcome that says what a change did, followed by its warnings. */
export const changeOutcome = (
  { type, id, version, deleted }: StoredVersion,
  warnings: readonly Issue[] = [],
): string => {
  const diagnostics = deleted ? `${type}/${id} is deleted.` : `${type}/${id} is stored as version ${version}.`
  return JSON.stringify({
    resourceType: 'OperationOutcome',
    issue: [{ severity: 'information', code: 'informational', diagnostics }, ...warnings],
  })
}

/** Sends the stored bytes as they are, unless the request wants another form. */
const showVersion = (
  { headers }: SentResponse,
  version: StoredVersion,
  { type, presentation = AS_STORED }: Answer,
): Pick<DirectAnswer, 'headers' | 'body' | 'length'> => {
  if (type === undefined) return { headers: versionHead(version) }
  if (isTransformed(presentation))
    return { headers: contentHead(version), body: presentVersion(version, type, presentation) }
  if (version.gzip && acceptsGzip(headers['accept-encoding']))
    return { headers: version.head('bytes', storedHead), body: version.bytes, length: version.bytes.length }
  return { headers: version.head('text', storedHead), body: version.text, length: version.length }
}

/** Headers and body of the answer. */
const show = (sent: SentResponse, answer: Answer): Pick<DirectAnswer, 'headers' | 'body' | 'length'> => {
  const { status, version, shows, content } = answer
  if (shows === 'version' && version !== undefined) return showVersion(sent, version, answer)
  // Version 0 stands for a resource that never existed.
  const head = version === undefined || version.version === 0 ? [] : versionHead(version)
  if (shows === 'nothing') {
    if (status === NOT_MODIFIED && version !== undefined) head.push('vary', variesBy(version))
    return { headers: head }
  }
  if (shows === 'content') {
    // The content of a Binary is sent instead of the resource.
    head.push(
      'content-type',
      content?.type ?? '',
      ...SAFETY_HEADERS,
      'vary',
      version === undefined ? 'accept' : variesBy(version),
    )
    return { headers: head, body: content?.bytes }
  }
  head.push('content-type', FHIR_JSON, 'vary', 'accept')
  if (shows !== 'outcome' || version === undefined) return { headers: head, body: answer.text, length: answer.length }
  const outcome = changeOutcome(version, answer.warnings)
  return { headers: head, body: answer.presentation?.pretty === true ? indentJson(outcome) : outcome }
}

/** The request to which the answer is sent. */
export interface SentResponse {
  readonly ctx: RequestContext
  readonly headers: IncomingHttpHeaders
}

/** Turns the result of an interaction into status, headers and body. */
export const toHttpResponse = (sent: SentResponse, answer: Answer): DirectAnswer => {
  const { status, version } = answer
  const { headers, body, length } = show(sent, answer)
  const hasLocation = version !== undefined && isLocated(answer)
  if (!hasLocation && answer.headers === undefined) return { status, headers, body, length }
  const before = Object.entries(answer.headers ?? {}).flat()
  if (hasLocation) before.push('location', versionUrl(sent.ctx, version))
  return { status, headers: [...before, ...headers], body, length }
}

/**
 * The answer in XML, for a request that asks for it. Throws 406 for what XML cannot hold; but to a request that may have changed
 * something the answer is JSON then, because a 4xx would say that nothing was done.
 */
export const toXmlResponse = async (
  { ctx, headers }: SentResponse,
  answer: Answer,
  xml: Pick<XmlConversion, 'write'>,
  form: XmlForm,
): Promise<DirectAnswer> => {
  // XML is made of text, so the stored bytes are not sent compressed.
  const json = toHttpResponse({ ctx, headers: { ...headers, 'accept-encoding': 'identity' } }, answer)
  try {
    return await toXmlAnswer(xml, ctx, json, form)
  } catch (error) {
    if (ctx.requestClass === 'read' || ctx.requestClass === 'search') throw error
    return json
  }
}

/** Sends the result of an interaction: at once where it is JSON. */
export const send = (
  request: FastifyRequest,
  reply: FastifyReply,
  answer: Answer,
  xml: Pick<XmlConversion, 'write'>,
): FastifyReply | Promise<FastifyReply> => {
  const form = xmlFormOf(request)
  if (form === undefined) return sendAnswer(reply, toHttpResponse(request, answer))
  return toXmlResponse(request, answer, xml, form).then((written) => sendAnswer(reply, written))
}
