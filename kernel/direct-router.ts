/**
 * Answers that are given in the turn their request arrived in, in front of the router: for what is asked most and lies in
 * memory, where the router and its reply take longer than the answer. Everything out of the ordinary goes the usual way;
 * so does a request that began here and cannot be finished at once, from where it got to: nothing is done twice.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { RequestContext } from './context.ts'
import { PluginRoutes } from './errors.ts'
import type { Runners } from './freeze.ts'
import type { Reply } from './hooks.ts'
import { checkHead } from './http-guard.ts'
import type { PipelinedRequests } from './pipelining.ts'
import type { RequestHooks } from './request-hooks.ts'
import type { RouteConfig } from './route-config.ts'
import type { ServerError } from './server-error.ts'
import type { UsageWatch } from './usage.ts'
import { withVary } from './with-vary.ts'

/** An answer as it goes out. */
export interface DirectAnswer {
  readonly status: number
  /** Name, value, name, value: in lower case, each name once, in the order they are sent; without Content-Length. */
  readonly headers: readonly string[]
  /** Left out with a status that has none, such as 304. */
  readonly body?: string | Buffer | undefined
  /** Bytes of the body, where they are known; counted otherwise. */
  readonly length?: number | undefined
}

/** How a plugin answers GET requests of one of its routes in the turn they arrive in. */
export interface DirectRoute<Met = unknown> {
  /** As the plugin's own route has it, which takes all that this leaves alone: `/:type/:id`. */
  readonly path: string
  /**
   * Asked before anything is done for the request, with its URL as it was received: what `answer` needs, or undefined for
   * the usual way. Has no effect, waits for nothing and does not throw.
   */
  meet(url: string): Met | undefined
  /**
   * Does what the handler of the route does, once the request hooks let the request pass. What it throws, or gives later,
   * is answered as if the handler had.
   */
  answer(ctx: RequestContext, met: Met, request: IncomingMessage): DirectAnswer | Promise<DirectAnswer>
}

/** A request that began here and goes on the usual way. */
export interface StartedRequest {
  readonly ctx: RequestContext
  /** Of `arrive`, where it answers. */
  readonly early?: Reply
  /** Of the request hooks, where they had to be waited for, gave an answer of their own, or refused. */
  readonly passed?: Promise<Reply | undefined>
  /** Of `answer`, where it comes later or is a refusal. */
  readonly answer?: Promise<DirectAnswer>
}

/** A route that takes GET. */
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
  /** All that are mounted. */
  readonly mounted: readonly DirectGet[]
  /** Why no request is taken now. */
  readonly refusal: () => ServerError | undefined
  readonly begin: (request: IncomingMessage, response: ServerResponse, route: DirectGet) => RequestContext
  readonly arrive: Runners['arrive']
  /** Null when no request hook is tapped. */
  readonly passHooks: RequestHooks | null
  /** True where `relay` is tapped: the router asks it of routes that say so. */
  readonly relays: boolean
  readonly watchUsage: UsageWatch | null
}

/** What stands in front of the router of our own listener. */
export interface DirectRouter {
  /** True when the request is answered; false when it is for the router. */
  answers(request: IncomingMessage, response: ServerResponse): boolean
  /** How far it got with a request that is for the router. */
  begun(request: IncomingMessage): StartedRequest | undefined
  /** Once the routes are mounted; until then all requests are for the router. Throws `PluginRoutes`. */
  open(parts: DirectRouterParts): void
}

interface Opened {
  readonly route: DirectRoute
  readonly mounted: DirectGet
  /** Beginnings of URLs that the router may give to somebody else: `/Patient`. */
  readonly others: readonly string[]
}

const OPEN_SEGMENT = /[:*(?]/

/** Could one URL be meant by both paths? Told by their segments alone: rather once too often. */
const mayMeet = (path: readonly string[], other: readonly string[]): boolean =>
  path.length === other.length || other.some((segment) => /[*?]/.test(segment))

/** Undefined when it cannot be told which URLs of the path are another plugin's: then the router has to. */
const openRoute = (
  { plugin, route }: DeclaredDirect,
  all: readonly DirectGet[],
  relays: boolean,
): Opened | undefined => {
  const mounted = all.find((one) => one.plugin === plugin && one.path === route.path)
  if (mounted === undefined) throw PluginRoutes(plugin, `there is no GET ${route.path} behind its direct answer`)
  if (relays && mounted.config.relay === true) return undefined
  const path = route.path.split('/').slice(1)
  const others = new Set<string>()
  for (const one of all) {
    const segments = one.path.split('/').slice(1)
    if (one.plugin === plugin || !mayMeet(path, segments)) continue
    const [first = ''] = segments
    if (OPEN_SEGMENT.test(first)) return undefined
    others.add(`/${first}`)
  }
  return { route, mounted, others: [...others] }
}

const isOf = (url: string, beginnings: readonly string[]): boolean => {
  for (let at = 0; at < beginnings.length; at += 1) if (url.startsWith(beginnings[at] as string)) return true
  return false
}

const failed = <T>(error: unknown): Promise<T> => {
  const rejected = Promise.reject<T>(error)
  rejected.catch(() => undefined) // told by whoever answers it
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
  // What is all ASCII need not be encoded.
  if (typeof body === 'string' && body.length === bytes) response.end(body, 'latin1')
  else response.end(body)
}

/** The same through the router. */
export const sendAnswer = (reply: FastifyReply, { status, headers, body }: DirectAnswer): FastifyReply => {
  reply.code(status)
  for (let at = 0; at < headers.length; at += 2) reply.header(headers[at] as string, headers[at + 1])
  return reply.send(body)
}

export const createDirectRouter = (turns: PipelinedRequests): DirectRouter => {
  const begun = new WeakMap<IncomingMessage, StartedRequest>()
  let routes: readonly Opened[] = []
  let parts: DirectRouterParts

  /** The same steps as the usual way, in the same order. */
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
      begun.set(request, { ctx, early })
      return false
    }
    let passed: ReturnType<RequestHooks>
    try {
      if (passHooks !== null) passed = passHooks(ctx)
    } catch (error) {
      passed = failed(error)
    }
    if (passed !== undefined) {
      begun.set(request, { ctx, passed: Promise.resolve(passed) })
      return false
    }
    let answer: DirectAnswer | Promise<DirectAnswer>
    try {
      answer = route.answer(ctx, met, request)
    } catch (error) {
      answer = failed(error)
    }
    if (answer instanceof Promise) {
      begun.set(request, { ctx, answer })
      return false
    }
    send(response, ctx, answer)
    return true
  }

  return {
    answers(request, response) {
      const { method, url = '' } = request
      if (routes.length === 0 || method !== 'GET' || parts.refusal() !== undefined) return false
      for (const opened of routes) {
        const met = opened.route.meet(url)
        if (met === undefined || isOf(url, opened.others)) continue
        if (!turns.isFree(request) || checkHead(request) !== undefined) return false
        turns.take(request, response, () => undefined)
        return give(request, response, opened, met)
      }
      return false
    },
    begun: (request) => begun.get(request),
    open(given) {
      parts = given
      routes = given.direct.flatMap((one) => openRoute(one, given.mounted, given.relays) ?? [])
    },
  }
}
