/** Answers with an error through the router: status, headers and an OperationOutcome. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { BodyNotJson, BodyTooLarge, MalformedRequest, MalformedUrl, MediaTypeRefused, SchemaNotMet } from './errors.ts'
import { indentJson } from './indent-json.ts'
import { toOutcome, toServerError } from './outcome.ts'
import { asksPretty } from './pretty-parameter.ts'
import type { ServerError } from './server-error.ts'
import { isUnread } from './unread-body.ts'

export const FHIR_JSON = 'application/fhir+json; charset=utf-8'

/** Translates Fastify's errors into ours, by code. */
const fromFastify = (error: FastifyError): ServerError | undefined => {
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return BodyTooLarge('the limit').with({ headers: { connection: 'close' } })
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return MediaTypeRefused()
    case 'FST_ERR_BAD_URL':
      return MalformedUrl()
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return BodyNotJson()
    case 'FST_ERR_VALIDATION':
      return SchemaNotMet(error.message)
    default:
      if (String(error.code).startsWith('FST_') && error.statusCode !== undefined && error.statusCode < 500)
        return MalformedRequest('the body does not match its headers')
      return undefined
  }
}

/** Whether to log an error: no refusals below 500, and no 503 without a cause, which a starting server sends often. */
const isNews = ({ status, cause, extras, plugin }: ServerError): boolean =>
  status >= 500 && extras.isExpected !== true && (status !== 503 || (cause ?? extras.detail ?? plugin) !== undefined)

export type AnswerError = (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => void

/** The cause goes to the log when it is our fault. */
export const createAnswerError =
  (log: Logger): AnswerError =>
  (thrown, request, reply) => {
    const error = fromFastify(thrown as FastifyError) ?? toServerError(thrown)
    if (isNews(error)) {
      const { plugin, hook, extras } = error
      // A 503 is expected when the client has left or closed its side. Any other error is a fault, also then.
      const left = error.status === 503 && (reply.raw.closed || request.raw.socket.readableEnded)
      log[left ? 'debug' : 'error']({
        request: request.ctx?.id,
        key: error.key,
        plugin,
        hook,
        detail: extras.detail,
        err: error.cause ?? error,
      })
    }
    reply.code(error.status)
    if (isUnread(request.raw)) reply.header('connection', 'close')
    if (error.extras.headers !== undefined) reply.headers(error.extras.headers)
    const text = JSON.stringify(toOutcome(error))
    reply.header('content-type', FHIR_JSON).send(asksPretty(request.url) ? indentJson(text) : text)
  }
