/**
 * Answers requests synchronously, in front of the router: for frequent reads of data in memory, where the router and
 * its reply take longer than the answer. All unusual requests go through the router. A request that was started here
 * and cannot be answered synchronously goes there too, and the router resumes it, so that no step is done twice.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import { compressDirect } from './compression/compress-direct.ts'
import type { Compression } from './compression/compression.ts'
import type { RequestContext } from './context.ts'
import type { DirectAnswer } from './direct-answer.ts'
import { PluginRoutes } from './errors.ts'
import type { Runners } from './freeze.ts'
import type { Reply } from './hooks.ts'
import { createHeadCheck } from './http-guard.ts'
import type { PipelinedRequests } from './pipelining.ts'
import type { Presentations } from './presentation.ts'
import type { RequestHooks } from './request-hooks.ts'
import type { RouteConfig } from './route-config.ts'
import type { ServerError } from './server-error.ts'
import type { UsageWatch } from './usage.ts'
import { withVary } from './with-vary.ts'

/** How a plugin answers GET requests of one of its routes synchronously. */
export interface DirectRoute<Met = unknown> {
  /** The path of the plugin's own GET route, which handles the requests that this one does not: `/:type/:id`. */
  readonly path: string
  /**
   * Called before any other step, with the URL as received. Returns what `answer` needs, or undefined to leave the
   * request to the router. It has no effect, waits for nothing and does not throw.
   */
  meet(url: string): Met | undefined
  /**
   * Does what the route's handler does, after the request hooks let the request pass. An error that it throws, or a
   * promise that it returns, is treated as the handler's.
   */
  answer(ctx: RequestContext, met: Met, request: IncomingMessage): DirectAnswer | Promise<DirectAnswer>
}

/** A request that was started here and is resumed by the router. */
export interface StartedRequest {
  readonly ctx: RequestContext
  /** Result of `arrive`, where it is a Reply. */
  readonly early?: Reply
  /** Result of the request hooks, where it comes later, is a Reply, or is a refusal. */
  readonly passed?: Promise<Reply | undefined>
  /** Result of `answer`, where it comes later or is a refusal. */
  readonly answer?: Promise<DirectAnswer>
}

/** A mounted route that takes GET. */
export interface DirectGet {
  readonly plugin: string
  readonly path: string
  readonly config: RouteConfig
}

export interface DeclaredDirect {
  readonly plugin: string
  readonly route: DirectRoute<any>
}

export interface DirectRouterParts {
  readonly direct: readonly DeclaredDirect[]
  /** All mounted routes that take GET. */
  readonly mounted: readonly DirectGet[]
  /** The error that refuses requests at this time; undefined to accept them. */
  readonly refusal: () => ServerError | undefined
  readonly begin: (request: IncomingMessage, response: ServerResponse, route: DirectGet) => RequestContext
  readonly arrive: Runners['arrive']
  /** Null when no request hook is tapped. */
  readonly passHooks: RequestHooks | null
  /** True where `relay` is tapped: then requests that their route's `relay` concerns are left to the router, which calls it. */
  readonly relays: boolean
  readonly watchUsage: UsageWatch | null
  readonly compression: Compression | null
  /** What is shown in another form is left to the router. */
  readonly presentations: Presentations | null
}

/** Called in front of the router of our own listener. */
export interface DirectRouter {
  /** True when the request is answered; false when it is for the router. */
  answers(request: IncomingMessage, response: ServerResponse): boolean
  /** The state of a request that was started here and left to the router. */
  begun(request: IncomingMessage): StartedRequest | undefined
  /** Called once the routes are mounted; until then all requests go to the router. Throws `PluginRoutes`. */
  open(parts: DirectRouterParts): void
}

interface Opened {
  readonly route: DirectRoute
  readonly mounted: DirectGet
  /** Prefixes of URLs that may belong to routes of other plugins: `/Patient`. Such requests go to the router. */
  readonly others: readonly string[]
  /** The request header with which a request is relayed; undefined where none is. */
  readonly relayHeader: string | undefined
}

const OPEN_SEGMENT = /[:*(?]/

/**
 * Whether one URL may match both paths. Compares the number of segments and wildcards only, so it may say yes too
 * often, but never no wrongly.
 */
const mayMeet = (path: readonly string[], other: readonly string[]): boolean =>
  path.length === other.length || other.some((segment) => /[*?]/.test(segment))

/**
 * Undefined when URLs of other plugins' routes cannot be recognised by a prefix: then the router handles all URLs of
 * the path.
 */
const openRoute = (
  { plugin, route }: DeclaredDirect,
  all: readonly DirectGet[],
  relays: boolean,
): Opened | undefined => {
  const mounted = all.find((one) => one.plugin === plugin && one.path === route.path)
  if (mounted === undefined) throw PluginRoutes(plugin, `there is no GET ${route.path} behind its direct answer`)
  const { relay } = mounted.config
  if (relays && relay === true) return undefined
  const path = route.path.split('/').slice(1)
  const others = new Set<string>()
  for (const one of all) {
    const segments = one.path.split('/').slice(1)
    if (one.plugin === plugin || !mayMeet(path, segments)) continue
    const [first = ''] = segments
    if (OPEN_SEGMENT.test(first)) return undefined
    others.add(`/${first}`)
  }
  return { route, mounted, others: [...others], relayHeader: relays && typeof relay === 'string' ? relay : undefined }
}

const isOf = (url: string, beginnings: readonly string[]): boolean => {
  for (let at = 0; at < beginnings.length; at += 1) if (url.startsWith(beginnings[at] as string)) return true
  return false
}

const failed = <T>(error: unknown): Promise<T> => {
  const rejected = Promise.reject<T>(error)
  rejected.catch(() => undefined) // handled by the code that answers the request
  return rejected
}

const addVary = (headers: string[], names: string): void => {
  const at = headers.indexOf('vary')
  if (at === -1) headers.push('vary', names)
  else headers[at + 1] = withVary(headers[at + 1], names)
}

const NOSNIFF = ['x-content-type-options', 'nosniff'] as const

const send = (response: ServerResponse, ctx: RequestContext, answer: DirectAnswer): void => {
  const { status, headers, body, length } = answer
  const all = ['x-request-id', ctx.id, ...NOSNIFF, ...headers]
  if (ctx.variesBy !== undefined) addVary(all, ctx.variesBy)
  if (body === undefined) {
    response.writeHead(status, all)
    response.end()
    return
  }
  const bytes = length ?? Buffer.byteLength(body)
  all.push('content-length', String(bytes))
  response.writeHead(status, all)
  // Equal numbers of characters and bytes mean ASCII, which latin1 writes without encoding.
  if (typeof body === 'string' && body.length === bytes) response.end(body, 'latin1')
  else response.end(body)
}

/** The client may leave meanwhile. */
const sendLater = (response: ServerResponse, ctx: RequestContext, later: Promise<DirectAnswer>): void => {
  later.then(
    (answer) => {
      if (!response.destroyed) send(response, ctx, answer)
    },
    (error) => {
      ctx.log.error({ err: error }, 'an answer could not be compressed')
      response.destroy()
    },
  )
}

/** Sends a direct answer through the router's reply. */
export const sendAnswer = (reply: FastifyReply, { status, headers, body }: DirectAnswer): FastifyReply => {
  reply.code(status)
  for (let at = 0; at < headers.length; at += 2) reply.header(headers[at] as string, headers[at + 1])
  return reply.send(body)
}

/**
 * The state is a property of the request and not in a WeakMap: V8 takes the values of an old WeakMap for alive until it collects
 * the whole heap, and with them the request, its answer and their buffers.
 */
const STARTED = Symbol('started by the direct router')
type StartedMessage = IncomingMessage & { [STARTED]?: StartedRequest }
const start = (request: StartedMessage, started: StartedRequest): void => {
  request[STARTED] = started
}

export const createDirectRouter = (turns: PipelinedRequests): DirectRouter => {
  const checkHead = createHeadCheck()
  let routes: readonly Opened[] = []
  let parts: DirectRouterParts

  /** Does the same steps as the router's way, in the same order. */
  const give = (
    request: IncomingMessage,
    response: ServerResponse,
    { route, mounted }: Opened,
    met: unknown,
  ): boolean => {
    const { arrive, passHooks, watchUsage, begin } = parts
    const ctx = begin(request, response, mounted)
    watchUsage?.begins(ctx, request, response, response)
    const early = arrive === null ? undefined : arrive(ctx)
    if (early !== undefined) {
      start(request, { ctx, early })
      return false
    }
    let passed: ReturnType<RequestHooks>
    try {
      if (passHooks !== null) passed = passHooks(ctx)
    } catch (error) {
      passed = failed(error)
    }
    if (passed !== undefined) {
      start(request, { ctx, passed: Promise.resolve(passed) })
      return false
    }
    let answer: DirectAnswer | Promise<DirectAnswer>
    try {
      answer = route.answer(ctx, met, request)
    } catch (error) {
      answer = failed(error)
    }
    if (answer instanceof Promise) {
      start(request, { ctx, answer })
      return false
    }
    const { compression } = parts
    if (compression === null || mounted.config.compress !== true) send(response, ctx, answer)
    else {
      const compressed = compressDirect(compression, request, answer)
      if (compressed instanceof Promise) sendLater(response, ctx, compressed)
      else send(response, ctx, compressed)
    }
    return true
  }

  return {
    answers(request, response) {
      const { method, url = '' } = request
      if (routes.length === 0 || method !== 'GET' || parts.refusal() !== undefined) return false
      for (const opened of routes) {
        const met = opened.route.meet(url)
        if (met === undefined || isOf(url, opened.others)) continue
        if (opened.relayHeader !== undefined && request.headers[opened.relayHeader] !== undefined) return false
        if (parts.presentations?.concerns(request)) return false
        if (!turns.isFree(request) || checkHead(request) !== undefined) return false
        turns.take(request, response, () => undefined)
        return give(request, response, opened, met)
      }
      return false
    },
    begun: (request: StartedMessage) => request[STARTED],
    open(given) {
      parts = given
      routes = given.direct.flatMap((one) => openRoute(one, given.mounted, given.relays) ?? [])
    },
  }
}
