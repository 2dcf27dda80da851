/**
 * The Fastify host: builds one RequestContext, calls the request hooks, mounts the plugins' routes, answers errors.
 * It is one encapsulated Fastify plugin, so that the same code serves our own listener and an embedding host's app.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyPluginCallback } from 'fastify'
import type { Logger } from 'pino'
import { createAnswerError, FHIR_JSON } from './answer-error.ts'
import { compressReply } from './compression/compress-reply.ts'
import type { RequestContext } from './context.ts'
import type { DirectGet } from './direct-router.ts'
import { Internal } from './errors.ts'
import { createHeadCheck } from './http-guard.ts'
import type { HttpParts, MountOptions, SharedSteps } from './http-parts.ts'
import { mountPlugin } from './mount-plugin.ts'
import { mountRequestHooks } from './mount-request-hooks.ts'
import { collectAddresses } from './mounted-addresses.ts'
import { named } from './named-scope.ts'
import { toOutcome } from './outcome.ts'
import { createContextBuilder, createUnreadContextBuilder } from './request-context.ts'
import { createAskRelay, createRequestHooks } from './request-hooks.ts'
import { answerErrors } from './scope-errors.ts'
import type { ServerError } from './server-error.ts'
import { requestLineIn } from './unparsed.ts'
import { createUsageWatch } from './usage.ts'
import { withVary } from './with-vary.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The kernel's view of the request; set before any handler of a plugin runs. */
    ctx: RequestContext
  }
}

/** Sends an error without the router. */
export const answerBare = (response: ServerResponse, error: ServerError): void => {
  response.writeHead(error.status, { 'content-type': FHIR_JSON, ...error.extras.headers })
  response.end(JSON.stringify(toOutcome(error)))
}

/** Sends 500 without the router: the routes could not be mounted. */
export const answerMalformed = (response: ServerResponse, error: unknown, log: Logger): void => {
  log.error({ err: error }, 'the routes cannot be mounted')
  answerBare(response, Internal())
}

export const createHttp = (parts: HttpParts): FastifyPluginCallback<MountOptions> => {
  const { run, clock, log, direct, refusal, compression, presentations } = parts
  const buildContext = createContextBuilder(parts)
  const buildUnread = createUnreadContextBuilder(parts)
  const answerError = createAnswerError(log)

  return named('kernel', (app, options, done) => {
    const prefix = app.prefix.replace(/\/+$/, '')
    app.addHook('onSend', (request, reply, given, next) => {
      const { ctx } = request
      const payload = presentations?.show(request, reply, given) ?? given
      const compressed = compressReply(compression, request, reply, payload)
      // Bare routes, and what is not ours, have no context.
      const names = ctx?.variesBy
      if (names !== undefined) reply.header('vary', withVary(reply.getHeader('vary'), names))
      // An open keep-alive connection would delay the graceful stop.
      if (parts.isStopping()) reply.header('connection', 'close')
      if (compressed instanceof Promise) compressed.then((bytes) => next(null, bytes), next)
      else next(null, compressed ?? payload)
    })
    const mounted: DirectGet[] = []
    const shared: SharedSteps = {
      watchUsage: run.meter === null ? null : createUsageWatch(run.meter, clock, parts.upgrades.isTaken),
      passHooks: createRequestHooks(run),
      askRelay: createAskRelay(run),
    }
    // Without a prefix another method of the same path may be the host's.
    const addresses = options.isHosts !== undefined && prefix === '' ? undefined : collectAddresses()
    const checkHead = createHeadCheck()
    const mountBare: FastifyPluginCallback = (bare, _bareOptions, bareDone) => {
      // Bare routes pass no hook, but their heads are checked as well.
      bare.addHook('onRequest', ({ raw }, reply, next) => {
        shared.watchUsage?.skips(raw, reply.raw)
        next(checkHead(raw)?.with({ headers: { connection: 'close' } }))
      })
      answerErrors(bare, answerError, options)
      addresses?.watch(bare, true)
      for (const routes of parts.routes)
        if (routes.bare) mountPlugin(bare, routes, mounted, { parts, answerError, options })
      bareDone()
    }
    const mountHooked: FastifyPluginCallback = (scope, _scopeOptions, scopeDone) => {
      mountRequestHooks(scope, prefix, options, { run, buildContext, answerError, refusal, shared, presentations })
      addresses?.watch(scope, false)
      for (const routes of parts.routes)
        if (!routes.bare) mountPlugin(scope, routes, mounted, { parts, answerError, options })
      // Registered after the plugins, so that all of their routes are known: several may share a path.
      const complete: FastifyPluginCallback = (own, _ownOptions, ownDone) => {
        addresses?.complete(own)
        ownDone()
      }
      scope.register(named('addresses', complete))
      scopeDone()
    }
    app.register(named('bare routes', mountBare))
    app.register(named('routes', mountHooked))
    const { watchUsage } = shared
    if (watchUsage !== null)
      options.refusals?.open((refused) => {
        const { socket, request, status } = refused
        const line = (): RequestContext => buildUnread(socket, requestLineIn(refused))
        watchUsage.refused(request ? buildContext(request, null, '', undefined, {}) : line(), socket, status)
      })
    const begin = (request: IncomingMessage, response: ServerResponse, { path, config }: DirectGet) =>
      buildContext(request, response, '', path, config)
    const relays = shared.askRelay !== null
    app.addHook('onReady', async () =>
      options.front?.open({
        direct,
        mounted,
        refusal,
        begin,
        relays,
        compression,
        presentations,
        arrive: run.arrive,
        ...shared,
      }),
    )
    done()
  })
}
