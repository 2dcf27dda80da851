/** Versions and outcomes → HTTP answers: status, ETag, Last-Modified, Location, body. https://hl7.org/fhir/R4/http.html#ops */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Issue, RequestContext } from '../../kernel/index.ts'
import { guardContent } from './binary.ts'
import type { Answer } from './interactions/answer.ts'
import { FHIR_JSON, takesGzip } from './media.ts'
import { toETag } from './precondition.ts'
import { needsWork, present } from './present.ts'
import { AS_STORED } from './query.ts'
import type { StoredVersion } from './store/version.ts'

const setVersion = (reply: FastifyReply, version: StoredVersion): void => {
  reply.header('etag', toETag(version.version)).header('last-modified', version.httpDate)
}

/** Stored bytes go out as they are unless another form was asked for. */
const sendVersion = (
  request: FastifyRequest,
  reply: FastifyReply,
  { version, type, presentation = AS_STORED }: Answer,
): FastifyReply => {
  if (version === undefined || type === undefined) return reply.send()
  reply.header('content-type', FHIR_JSON)
  if (type.name === 'Binary') guardContent(reply)
  if (needsWork(presentation)) return reply.send(present(version.text, type, presentation))
  if (!version.gzip) return reply.send(version.text)
  reply.header('vary', 'accept-encoding')
  if (!takesGzip(request.headers['accept-encoding'])) return reply.send(version.text)
  return reply.header('content-encoding', 'gzip').send(version.bytes)
}

/** The content of a Binary instead of the resource. */
const sendContent = (reply: FastifyReply, { content }: Answer): FastifyReply => {
  guardContent(reply)
  return reply
    .header('content-type', content?.type ?? '')
    .header('vary', 'accept')
    .send(content?.bytes)
}

export const versionPath = ({ type, id, version }: StoredVersion): string => `${type}/${id}/_history/${version}`

const versionUrl = ({ baseUrl }: RequestContext, version: StoredVersion): string => `${baseUrl}/${versionPath(version)}`

/** What became of a change, in a sentence, and what was said about it. */
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

/** Sends what became of an interaction. */
export const send = (request: FastifyRequest, reply: FastifyReply, answer: Answer): FastifyReply => {
  const { status, version, shows } = answer
  reply.code(status)
  if (answer.headers !== undefined) reply.headers(answer.headers)
  // Version 0 stands for what never was.
  if (version !== undefined && version.version > 0) {
    setVersion(reply, version)
    if (status === 201) reply.header('location', versionUrl(request.ctx, version))
  }
  if (shows === 'version') return sendVersion(request, reply, answer)
  if (shows === 'content') return sendContent(reply, answer)
  if (shows === 'nothing') return reply.send()
  const text = shows === 'outcome' && version !== undefined ? changeOutcome(version, answer.warnings) : answer.text
  return reply.header('content-type', FHIR_JSON).send(text)
}
