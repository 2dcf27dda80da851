/**
 * The Fastify host: builds one RequestContext, calls the request hooks, mounts the plugins' routes, answers errors.
 * It is one encapsulated Fastify plugin, so that the same code serves our own listener and an embedding host's app.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type {
  FastifyInstance,
  FastifyPluginCallback,
  FastifyPluginOptions,
  FastifyReply,
  FastifyRequest,
} from 'fastify'
import type { Logger } from 'pino'
import { createAnswerError, FHIR_JSON } from './answer-error.ts'
import { attributeError } from './attribute-error.ts'
import type { RequestContext } from './context.ts'
import { type DeclaredDirect, type DirectGet, type DirectRouter, sendAnswer } from './direct-router.ts'
import { Internal, MethodRefused, NoSuchRoute, PluginRoutes } from './errors.ts'
import type { Runners } from './freeze.ts'
import type { Reply } from './hooks.ts'
import { checkHead } from './http-guard.ts'
import { messageOf } from './message-of.ts'
import { collectAddresses } from './mounted-addresses.ts'
import { toOutcome } from './outcome.ts'
import { type ContextParts, createContextBuilder, createUnreadContextBuilder } from './request-context.ts'
import { type AskRelay, createAskRelay, createRequestHooks, type RequestHooks } from './request-hooks.ts'
import { checkRoute } from './route-config.ts'
import { ServerError } from './server-error.ts'
import { type BareRefusals, requestLineIn } from './unparsed.ts'
import { isUnread } from './unread-body.ts'
import { mountUpgrade } from './upgrade-route.ts'
import type { Upgrades } from './upgrades.ts'
import { createUsageWatch, type UsageWatch } from './usage.ts'
import { withVary } from './with-vary.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The kernel's view of the request; set before any handler of a plugin runs. */
    ctx: RequestContext
  }
}

export interface MountedRoutes {
  readonly plugin: string
  readonly callback: FastifyPluginCallback
  readonly bare: boolean
}

export interface HttpParts extends ContextParts {
  readonly run: Runners
  readonly routes: readonly MountedRoutes[]
  readonly direct: readonly DeclaredDirect[]
  /** The error that refuses requests at this time; undefined when the server is ready. */
  readonly refusal: () => ServerError | undefined
  readonly isStopping: () => boolean
  readonly upgrades: Upgrades
}

export interface MountOptions {
  /** Set in an embedding: true for a response that has reached no hook of ours, so that its errors are the host's. */
  readonly isHosts?: (response: ServerResponse) => boolean
  /** On our own listener: answers what it can in front of the router. */
  readonly front?: DirectRouter
  /** On our own listener: refusals of what the parser made no request of. */
  readonly refusals?: BareRefusals
  /** On our own listener: sets after how many milliseconds without progress an answer is cut; null for never. */
  readonly stall?: (response: ServerResponse, ms: number | null) => void
}

/** Steps that are the same for direct answers and routed ones. */
interface Shared {
  readonly watchUsage: UsageWatch | null
  readonly passHooks: RequestHooks | null
  readonly askRelay: AskRelay | null
}

/** `stall` of an embedding, which sets the usual time itself. The socket of an injected request has no setTimeout. */
const stallOf = ({ req: { socket } }: ServerResponse, ms: number | null): void => void socket.setTimeout?.(ms ?? 0)

/** True for the kernel's own refusals, which must not be attributed to the plugin of the route. */
const isOwn = (error: unknown): boolean => error instanceof ServerError && error.key.startsWith('kernel/')

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

/**
 * Names a scope for Fastify, which otherwise looks for each function among all modules that are loaded: a twentieth of a
 * start.
 */
const named = <O extends FastifyPluginOptions>(
  name: string,
  scope: FastifyPluginCallback<O>,
): FastifyPluginCallback<O> => Object.assign(scope, { [Symbol.for('fastify.display-name')]: name })

export const createHttp = (parts: HttpParts): FastifyPluginCallback<MountOptions> => {
  const { run, clock, log } = parts
  const buildContext = createContextBuilder(parts)
  const buildUnread = createUnreadContextBuilder(parts)
  const answerError = createAnswerError(log)

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

  /** Answers our errors in a scope, and passes those of the host's own hooks to the host's handler. */
  const answerErrors = (scope: FastifyInstance, { isHosts }: MountOptions, plugin?: string): void => {
    scope.setErrorHandler((error, request, reply) => {
      if (isHosts?.(reply.raw)) return reply.send(error)
      answerError(plugin === undefined || isOwn(error) ? error : attributeError(error, plugin), request, reply)
    })
  }

  const mountRequestHooks = (scope: FastifyInstance, prefix: string, options: MountOptions, shared: Shared): void => {
    const { front, stall = stallOf } = options
    const { watchUsage, passHooks, askRelay } = shared
    scope.decorateRequest('ctx', null as unknown as RequestContext)
    scope.addHook('onRequest', (request, reply, done) => {
      const { raw } = request
      const { config } = request.routeOptions
      if (config.stallMs !== undefined) stall(reply.raw, config.stallMs)
      const begun = front?.begun(raw)
      const ctx = begun?.ctx ?? buildContext(raw, reply.raw, prefix, routeOf(request, prefix), config)
      request.ctx = ctx
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
      const closed = parts.refusal()
      // Not through the handler of the route's scope, which would blame the plugin of the route.
      if (closed === undefined) done()
      else answerError(closed, request, reply)
    })
    if (passHooks !== null || askRelay !== null)
      scope.addHook('onRequest', async function runRequestHooks({ raw, ctx, routeOptions }, reply) {
        let answer = await (front?.begun(raw)?.passed ?? passHooks?.(ctx))
        if (answer === undefined && askRelay !== null && ctx.relays !== false)
          answer = await askRelay(ctx, raw, routeOptions.config.beforeRelay)
        return answer === undefined ? undefined : sendReply(reply, answer)
      })
    answerErrors(scope, options)
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

  /** Mounts one plugin's routes in a scope of their own; errors there, at mounting or later, name the plugin. */
  const mount = (
    scope: FastifyInstance,
    { plugin, callback, bare }: MountedRoutes,
    options: MountOptions,
    mounted: DirectGet[],
  ): void => {
    const unmountable = (error: unknown) => PluginRoutes(plugin, messageOf(error)).with({ cause: error })
    const enter: FastifyPluginCallback = (outer, _outerOptions, outerDone) => {
      answerErrors(outer, options, plugin)
      outer.addHook('onRoute', (route) => {
        checkRoute(route, bare)
        const { method, url, config = {} } = route
        if (config.upgrade === true) mountUpgrade(route, plugin, parts)
        if ([method].flat().includes('GET')) mounted.push({ plugin, path: url, config })
      })
      const call: FastifyPluginCallback = (own, ownOptions, done) => {
        try {
          // An async callback returns a promise.
          const returned: unknown = callback(own, ownOptions, (error) =>
            error === undefined ? done() : done(unmountable(error)),
          )
          return (returned as Promise<void> | undefined)?.then?.(undefined, (error) =>
            Promise.reject(unmountable(error)),
          )
        } catch (error) {
          done(unmountable(error))
        }
      }
      outer.register(named(plugin, call))
      outerDone()
    }
    scope.register(named(`errors of ${plugin}`, enter))
  }

  return named('kernel', (app, options, done) => {
    const prefix = app.prefix.replace(/\/+$/, '')
    app.addHook('onSend', ({ ctx }, reply, payload, next) => {
      // Bare routes, and what is not ours, have no context.
      const names = ctx?.variesBy
      if (names !== undefined) reply.header('vary', withVary(reply.getHeader('vary'), names))
      // An open keep-alive connection would delay the graceful stop.
      if (parts.isStopping()) reply.header('connection', 'close')
      next(null, payload)
    })
    const mounted: DirectGet[] = []
    const shared: Shared = {
      watchUsage: run.meter === null ? null : createUsageWatch(run.meter, clock, parts.upgrades.isTaken),
      passHooks: createRequestHooks(run),
      askRelay: createAskRelay(run),
    }
    // Without a prefix another method of the same path may be the host's.
    const addresses = options.isHosts !== undefined && prefix === '' ? undefined : collectAddresses()
    const mountBare: FastifyPluginCallback = (bare, _bareOptions, bareDone) => {
      // Bare routes pass no hook, but their heads are checked as well.
      bare.addHook('onRequest', ({ raw }, reply, next) => {
        shared.watchUsage?.skips(raw, reply.raw)
        next(checkHead(raw)?.with({ headers: { connection: 'close' } }))
      })
      answerErrors(bare, options)
      addresses?.watch(bare, true)
      for (const routes of parts.routes) if (routes.bare) mount(bare, routes, options, mounted)
      bareDone()
    }
    const mountHooked: FastifyPluginCallback = (scope, _scopeOptions, scopeDone) => {
      mountRequestHooks(scope, prefix, options, shared)
      addresses?.watch(scope, false)
      for (const routes of parts.routes) if (!routes.bare) mount(scope, routes, options, mounted)
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
    const { direct, refusal } = parts
    const begin = (request: IncomingMessage, response: ServerResponse, { path, config }: DirectGet) =>
      buildContext(request, response, '', path, config)
    const relays = shared.askRelay !== null
    app.addHook('onReady', async () =>
      options.front?.open({ direct, mounted, refusal, begin, relays, arrive: run.arrive, ...shared }),
    )
    done()
  })
}
