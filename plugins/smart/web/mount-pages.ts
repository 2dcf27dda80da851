/**
 * Mounts the addresses that people's browsers open. They answer with a page or a redirect, are never cached, framed or
 * referred to, and their errors are pages.
 */
import type { FastifyError, FastifyInstance, FastifyReply } from 'fastify'
import { type RequestContext, ServerError, toServerError } from '../../../kernel/index.ts'
import type { Pages } from '../pages/page.ts'
import { MalformedPageRequest, PageRequestTooLarge, reasonOf } from './page-errors.ts'

const BODY_BYTES = 56 * 1024
const FORM_TYPE = 'application/x-www-form-urlencoded'
const HTML_TYPE = 'text/html; charset=utf-8'

/** The answer to a browser: a page, or a redirect by GET. */
export type PageAnswer = { readonly cookies?: readonly string[] } & (
  | { readonly html: string; readonly csp: string; readonly status?: number }
  | { readonly redirect: string }
)

export interface PageRequest {
  readonly ctx: RequestContext
  /** Parameters of the path. */
  readonly path: Readonly<Record<string, string>>
  /** Query of a GET, body of a POST, undecoded. */
  readonly text: Buffer
}

export interface PageRoute {
  readonly method: 'GET' | 'POST'
  readonly url: string
  answer(request: PageRequest): Promise<PageAnswer>
}

const HEADERS = {
  'cache-control': 'no-store',
  pragma: 'no-cache',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
}

const send = (reply: FastifyReply, answer: PageAnswer): FastifyReply => {
  if (answer.cookies !== undefined && answer.cookies.length > 0) reply.header('set-cookie', [...answer.cookies])
  // 303: the browser goes on with GET, and does not send the form again. RFC 9700, section 4.12
  if ('redirect' in answer) return reply.code(303).header('location', answer.redirect).send('')
  return reply
    .code(answer.status ?? 200)
    .headers({ 'content-type': HTML_TYPE, 'content-security-policy': answer.csp })
    .send(answer.html)
}

/** What Fastify refuses is malformed; errors of this server stay as they are. */
const ownError = (error: unknown): ServerError => {
  if (error instanceof ServerError) return error
  const { code = '', statusCode = 500 } = error as Partial<FastifyError>
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return PageRequestTooLarge()
  return code.startsWith('FST_') && statusCode < 500
    ? MalformedPageRequest('its body is not a form')
    : toServerError(error)
}

/** Call once for a Fastify scope that has only pages. */
export const mountPages = (app: FastifyInstance, pages: Pages, routes: readonly PageRoute[]): void => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(FORM_TYPE, { parseAs: 'buffer', bodyLimit: BODY_BYTES }, (_request, bytes, done) =>
    done(null, bytes),
  )
  app.addHook('onSend', (_request, reply, payload, next) => {
    reply.headers(HEADERS)
    next(null, payload)
  })
  app.setErrorHandler((thrown, { ctx }, reply) => {
    const error = ownError(thrown)
    if (error.status >= 500) ctx.log.error({ err: thrown }, 'a login failed')
    else ctx.log.debug({ error: error.key }, 'a login was refused')
    const retryAfter = error.extras.headers?.['retry-after']
    const html = pages.error({
      ...{ status: error.status, reason: reasonOf(error), requestId: ctx.id },
      waitSeconds: retryAfter === undefined ? undefined : Number(retryAfter),
    })
    reply.headers(error.extras.headers ?? {})
    return send(reply, { html, csp: pages.csp(), status: error.status })
  })
  for (const { method, url, answer } of routes)
    app.route({
      method,
      url,
      // A login takes about ten requests, several of them redirects within milliseconds.
      config: { requestClass: 'read', relay: true },
      bodyLimit: BODY_BYTES,
      exposeHeadRoute: false,
      async handler({ ctx, body, params }, reply) {
        const at = ctx.url.indexOf('?')
        const query = Buffer.from(at === -1 ? '' : ctx.url.slice(at + 1), 'latin1')
        const sent = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
        const text = method === 'GET' ? query : sent
        return send(reply, await answer({ ctx, path: params as Record<string, string>, text }))
      },
    })
}
