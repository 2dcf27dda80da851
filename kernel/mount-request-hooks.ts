/**
 * Adds Fastify hooks to the scope that contains the routes of plugins. For each request they make the RequestContext,
 * begin to measure usage, let plugins answer before the route, refuse requests while the server is not ready, and let
 * another server answer (hook `relay`), in this order.
 */
import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AnswerError } from './answer-error.ts'
import { type RequestContext, steps } from './context.ts'
import { sendAnswer } from './direct-router.ts'
import { MethodRefused, NoSuchRoute } from './errors.ts'
import type { Runners } from './freeze.ts'
import type { Reply } from './hooks.ts'
import { createHeadCheck } from './http-guard.ts'
import type { MountOptions, SharedSteps } from './http-parts.ts'
import type { Presentations } from './presentation.ts'
import type { ContextBuilder } from './request-context.ts'
import { answerErrors } from './scope-errors.ts'
import type { ServerError } from './server-error.ts'
import { isUnread } from './unread-body.ts'

export interface RequestHookParts {
  readonly run: Runners
  readonly buildContext: ContextBuilder
  readonly answerError: AnswerError
  /** The error that refuses requests at this time; undefined when the server is ready. */
  readonly refusal: () => ServerError | undefined
  readonly shared: SharedSteps
  readonly presentations: Presentations | null
}

/** `stall` of an embedding, which sets the usual time itself. The socket of an injected request has no setTimeout. */
const stallOf = ({ req: { socket } }: ServerResponse, ms: number | null): void => void socket.setTimeout?.(ms ?? 0)

/** The declared path, without the mount prefix and a slash at its end, so that both spellings have one name. */
const routeOf = ({ routeOptions: { url } }: FastifyRequest, prefix: string): string | undefined => {
  const path = prefix !== '' && url?.startsWith(prefix) ? url.slice(prefix.length) || '/' : url
  return path !== undefined && path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}

/** An async hook returns the reply, and Fastify waits until its last byte is sent, also of a stream. */
const sendReply = (reply: FastifyReply, answer: Reply): FastifyReply => {
  reply.code(answer.status)
  for (const [name, value] of Object.entries(answer.headers ?? {}))
    reply.header(name, typeof value === 'string' ? value : [...value])
  // Does not wait for what the client still sends: the connection ends with the answer.
  if (isUnread(reply.request.raw)) reply.header('connection', 'close')
  return reply.send(answer.body)
}

/** `prefix`: the path under which the kernel is mounted, without a slash at its end. */
export const mountRequestHooks = (
  scope: FastifyInstance,
  prefix: string,
  options: MountOptions,
  { run, buildContext, answerError, refusal, shared, presentations }: RequestHookParts,
): void => {
  const { front, stall = stallOf } = options
  const { watchUsage, passHooks, askRelay } = shared
  const checkHead = createHeadCheck()
  scope.decorateRequest('ctx', null as unknown as RequestContext)
  scope.addHook('onRequest', (request, reply, done) => {
    const { raw } = request
    const { config } = request.routeOptions
    if (config.stallMs !== undefined) stall(reply.raw, config.stallMs)
    const begun = front?.begun(raw)
    const isPresented = begun === undefined && presentations?.begin(request) === true
    const ctx = begun?.ctx ?? buildContext(raw, reply.raw, prefix, routeOf(request, prefix), config)
    request.ctx = ctx
    if (isPresented) steps.present(ctx)
    if (begun === undefined) watchUsage?.begins(ctx, raw, reply.raw, reply)
    // Set through Fastify: after one call of Node's own setHeader, Node sets every other header one by one, too.
    reply.header('x-request-id', ctx.id)
    // Keeps browsers from guessing that text of unknown origin is a page or a script.
    reply.header('x-content-type-options', 'nosniff')
    const early = begun === undefined ? run.arrive?.(ctx) : begun.early
    if (early !== undefined) {
      sendReply(reply, early)
      return
    }
    if (begun?.answer !== undefined) {
      begun.answer.then((answer) => void sendAnswer(reply, answer), done)
      return
    }
    const refused = checkHead(raw)
    // Bytes after such a head may not be a request, so the connection is closed.
    if (refused !== undefined) return done(refused.with({ headers: { connection: 'close' } }))
    const closed = refusal()
    // Not through the handler of the route's scope, which would blame the plugin of the route.
    if (closed === undefined) done()
    else answerError(closed, request, reply)
  })
  if (passHooks !== null || askRelay !== null)
    scope.addHook('onRequest', async function runRequestHooks(request, reply) {
      const { raw, ctx, routeOptions } = request
      let answer = await (front?.begun(raw)?.passed ?? passHooks?.(ctx))
      if (answer === undefined && askRelay !== null && ctx.relays !== false) {
        const back = presentations?.leave(request)
        answer = await askRelay(ctx, raw, routeOptions.config.beforeRelay)
        if (answer === undefined) back?.()
      }
      return answer === undefined ? undefined : sendReply(reply, answer)
    })
  answerErrors(scope, answerError, options)
  // Without a prefix every path may be the host's, so the host answers unknown ones.
  if (options.isHosts !== undefined && prefix === '') return
  scope.setNotFoundHandler((request, reply) => {
    const known = scope.supportedMethods.includes(request.method)
    answerError(
      known ? NoSuchRoute() : MethodRefused(request.method).with({ headers: { allow: 'GET, HEAD' } }),
      request,
      reply,
    )
  })
}
