/** Versions and outcomes → HTTP answers: status, ETag, Last-Modified, Location, body. https://hl7.org/fhir/R4/http.html#ops */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type RequestContext, type ServerError, toOutcome } from '../../kernel/index.ts'
import { type Content, guardContent } from './binary.ts'
import type { ResourceType } from './catalog.ts'
import { FHIR_JSON, takesGzip } from './media.ts'
import { toETag } from './precondition.ts'
import { needsWork, present } from './present.ts'
import type { Prefer, Presentation } from './query.ts'
import type { StoredVersion } from './store/version.ts'

const toHttpDate = (version: StoredVersion): string => new Date(version.lastUpdated).toUTCString()

const setVersion = (reply: FastifyReply, version: StoredVersion): void => {
  reply.header('etag', toETag(version.version)).header('last-modified', toHttpDate(version))
}

/** 200 with the resource. Stored bytes go out as they are unless another form was asked for. */
export const sendVersion = (
  request: FastifyRequest,
  reply: FastifyReply,
  version: StoredVersion,
  type: ResourceType,
  presentation: Presentation,
  status = 200,
): FastifyReply => {
  setVersion(reply, version)
  reply.code(status).header('content-type', FHIR_JSON)
  if (type.name === 'Binary') guardContent(reply)
  if (needsWork(presentation)) return reply.send(present(version.plain.toString('utf8'), type, presentation))
  if (!version.gzip) return reply.send(version.bytes)
  reply.header('vary', 'accept-encoding')
  if (!takesGzip(request.headers['accept-encoding'])) return reply.send(version.plain)
  return reply.header('content-encoding', 'gzip').send(version.bytes)
}

/** 200 with the content of a Binary instead of the resource. */
export const sendContent = (reply: FastifyReply, version: StoredVersion, { type, bytes }: Content): FastifyReply => {
  setVersion(reply, version)
  guardContent(reply)
  return reply.header('content-type', type).header('vary', 'accept').send(bytes)
}

/** 304: the client has this version. */
export const sendUnchanged = (reply: FastifyReply, version: StoredVersion): FastifyReply => {
  setVersion(reply, version)
  return reply.code(304).send()
}

/** The answer to a change, in the form `Prefer: return=` asks for. */
export const sendChanged = (
  request: FastifyRequest,
  reply: FastifyReply,
  version: StoredVersion,
  type: ResourceType,
  status: number,
  prefer: Prefer,
  presentation: Presentation,
): FastifyReply => {
  if (status === 201) reply.header('location', versionUrl(request.ctx, version))
  if (prefer.return === 'representation') return sendVersion(request, reply, version, type, presentation, status)
  setVersion(reply, version)
  reply.code(status)
  if (prefer.return === 'minimal') return reply.send()
  return reply.header('content-type', FHIR_JSON).send(JSON.stringify(done(version)))
}

const versionUrl = ({ baseUrl }: RequestContext, { type, id, version }: StoredVersion): string =>
  `${baseUrl}/${type}/${id}/_history/${version}`

const done = ({ type, id, version }: StoredVersion) => ({
  resourceType: 'OperationOutcome',
  issue: [
    { severity: 'information', code: 'informational', diagnostics: `${type}/${id} is stored as version ${version}.` },
  ],
})

/** 204, or 200 with an outcome where that was asked for. */
export const sendDeleted = (reply: FastifyReply, version: StoredVersion, prefer: Prefer): FastifyReply => {
  if (version.version > 0) reply.header('etag', toETag(version.version))
  if (prefer.return !== 'OperationOutcome') return reply.code(204).send()
  const diagnostics = `${version.type}/${version.id} is deleted.`
  return reply
    .code(200)
    .header('content-type', FHIR_JSON)
    .send(
      JSON.stringify({
        resourceType: 'OperationOutcome',
        issue: [{ severity: 'information', code: 'informational', diagnostics }],
      }),
    )
}

/** An error as an entry of a Bundle or a body. */
export const outcomeText = (error: ServerError): string => JSON.stringify(toOutcome(error))
