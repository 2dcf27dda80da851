/**
 * Mounts an OAuth endpoint, a POST with a form or JSON. Answers and errors follow RFC 6749, section 5; they are
 * audited, and never cached.
 */
import type { FastifyError, FastifyInstance, HTTPMethods } from 'fastify'
import {
  type FactDetails,
  MethodRefused,
  type RequestContext,
  type Runners,
  ServerError,
  toServerError,
} from '../../../kernel/index.ts'
import { InvalidRequest, oauthCodeOf, RequestTooLarge } from '../oauth-errors.ts'
import { type Form, readForm } from './form.ts'

const BODY_BYTES = 56 * 1024 // the message of RequestTooLarge states this limit
const JSON_TYPE = 'application/json; charset=utf-8'
const FORM_TYPE = 'application/x-www-form-urlencoded'

export interface OAuthAnswer {
  readonly status: number
  /** Sent as JSON; the body is empty when this is left out. */
  readonly body?: object
  /** Name in the audit trail, where it is not the one of the endpoint: `refresh`. */
  readonly operation?: string
  /** For the audit trail. */
  readonly details?: FactDetails | undefined
  /** Called when the answer goes out, or cannot. */
  afterwards?(): void
}

interface Endpoint<Body> {
  /** `/oauth/token` */
  readonly path: string
  /** Name in the audit trail: `token`. */
  readonly operation: string
  /** When false, only refusals are audited. */
  readonly audited: boolean
  answer(ctx: RequestContext, body: Body): Promise<OAuthAnswer>
}

export type FormEndpoint = Endpoint<Form>
export type JsonEndpoint = Endpoint<Buffer>

/** Turns what Fastify refuses before the handler runs into an error of this plugin; returns other errors unchanged. */
const ownError = (error: unknown): unknown => {
  if (error instanceof ServerError) return error
  const { code = '', statusCode = 500 } = error as Partial<FastifyError>
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return RequestTooLarge().with({ headers: { connection: 'close' } })
  return code.startsWith('FST_') && statusCode < 500 ? InvalidRequest('the body does not match its headers') : error
}

/** Call once for each Fastify scope, before its endpoints are mounted. */
export const prepareOAuthScope = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers()
  const take = { parseAs: 'buffer', bodyLimit: BODY_BYTES } as const
  app.addContentTypeParser([FORM_TYPE, 'application/json'], take, (_request, bytes, done) => done(null, bytes))
  app.addContentTypeParser('*', (_request, _payload, done) =>
    done(InvalidRequest('the Content-Type is not the one of this address')),
  )
  app.addHook('onSend', (_request, reply, payload, next) => {
    reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache' })
    next(null, payload)
  })
  app.setErrorHandler((thrown, { ctx }, reply) => {
    // What a plugin did not expect becomes an error without details.
    const error = toServerError(ownError(thrown))
    if (error.status >= 500 && error.status !== 503)
      ctx.log.error({ key: error.key, err: error.cause ?? error }, 'a request to an OAuth endpoint failed')
    const body = { error: oauthCodeOf(error), error_description: error.message.replaceAll(/[^\x20-\x7e]|["\\]/g, '') }
    return reply
      .code(error.status)
      .headers({ ...error.extras.headers, 'content-type': JSON_TYPE })
      .send(JSON.stringify(body))
  })
}

const mount = <Body>(
  app: FastifyInstance,
  run: Runners,
  { path: url, operation, audited, answer }: Endpoint<Body>,
  type: string,
  read: (bytes: Buffer) => Body,
): void => {
  // Callers have no token yet, and everybody behind one address shares its rate.
  const config = { requestClass: 'read' as const, relay: true }
  const interaction = { kind: 'auth', operation } as const
  app.route({
    method: 'POST',
    url,
    config,
    bodyLimit: BODY_BYTES,
    async handler({ ctx, body, headers }, reply) {
      try {
        if (ctx.url.includes('?')) throw InvalidRequest('parameters are sent in the body, never in the URL')
        if ((headers['content-encoding'] ?? 'identity') !== 'identity') throw InvalidRequest('the body is packed')
        if (
          headers['content-type'] !== undefined &&
          headers['content-type'].split(';')[0]?.trim().toLowerCase() !== type
        )
          throw InvalidRequest('the Content-Type is not the one of this address')
        const {
          status,
          body: sent,
          operation: named = operation,
          details,
          afterwards,
        } = await answer(ctx, read(Buffer.isBuffer(body) ? body : Buffer.alloc(0)))
        try {
          if (audited)
            await run.onAudit?.({ request: ctx, interaction: { kind: 'auth', operation: named }, status, details })
        } finally {
          afterwards?.()
        }
        reply.code(status).header('content-type', JSON_TYPE)
        return reply.send(sent === undefined ? '' : JSON.stringify(sent))
      } catch (error) {
        await run.onAudit?.({ request: ctx, interaction, status: toServerError(error).status })
        throw error
      }
    },
  })
  app.route({
    method: app.supportedMethods.filter((one) => one !== 'POST') as HTTPMethods[],
    url,
    config: { ...config, isRefusal: true },
    onRequest: ({ method }, _reply, next) => next(MethodRefused(method).with({ headers: { allow: 'POST' } })),
    handler: () => undefined,
  })
}

export const mountForm = (app: FastifyInstance, run: Runners, endpoint: FormEndpoint): void =>
  mount(app, run, endpoint, FORM_TYPE, readForm)

export const mountJson = (app: FastifyInstance, run: Runners, endpoint: JsonEndpoint): void =>
  mount(app, run, endpoint, 'application/json', (bytes) => bytes)
