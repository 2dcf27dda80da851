/**
 * GET /subscription-events, a WebSocket: `bind [id]` is answered with `bound [id]`, and each event of the Subscription with
 * `ping [id]`. https://hl7.org/fhir/R4/subscription.html#2.46.6.2
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyPluginCallback } from 'fastify'
import type { RawData, WebSocket, WebSocketServer } from 'ws'
import { type Clock, every, type Host, isServerError, type Logger, RequestContext } from '../../kernel/index.ts'
import type { Resources } from '../fhir/service.ts'
import type { Limits } from '../limits/service.ts'
import type { BoundSocket, BoundSockets } from './bound-sockets.ts'
import { SocketOnReplica, SocketOrigin, SocketsFull } from './errors.ts'

const PATH = '/subscription-events'
const MESSAGE_BYTES = 1_024
const BIND = /^bind:? ?([A-Za-z0-9.-]{1,64})$/
const MAX_SOCKETS = 1_000
const MAX_BOUND = 100 // Subscriptions of a connection
const CHECK_MS = 30_000
const CLOSE = { stopping: 1001, failed: 1011, malformed: 4400, unauthorized: 4401, unknown: 4404 } as const

export interface WebSocketRouteParts {
  readonly sockets: BoundSockets
  readonly resources: Resources
  readonly limits: Limits | undefined
  readonly identify: Host['identify']
  readonly isReader: boolean
  readonly clock: Clock
  readonly log: Logger
}

/** The rule of /sync: the origin is this server, or one that the plugin cors lets read answers. */
const checkOrigin = ({ headers: { origin, host } }: RequestContext, response: ServerResponse): void => {
  if (origin === undefined || response.getHeader('access-control-allow-origin') === origin) return
  if (URL.parse(origin)?.host !== host) throw SocketOrigin()
}

const textOf = (data: RawData): string =>
  (Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as ArrayBuffer)).toString('utf8').trim()

const nameOf = ({ caller: { kind, client = '', user = '' } }: Pick<RequestContext, 'caller'>): string =>
  JSON.stringify([kind, client, user])

interface Opened {
  readonly parts: WebSocketRouteParts
  readonly ctx: RequestContext
  readonly raw: IncomingMessage
  readonly response: ServerResponse
  readonly socket: WebSocket
}

/** Serves one connection. The returned function ends its checks. */
const serve = ({ parts, ctx, raw, response, socket }: Opened): (() => Promise<void>) => {
  const { sockets, resources, identify, clock, log } = parts
  const one: BoundSocket = { socket, bound: new Set() }
  const controller = new AbortController()
  let caller = ctx.caller
  /** A request with the current caller. */
  const asking = (): RequestContext => {
    const { id, method, baseUrl, ownUrl, address, headers, requestClass } = ctx
    const request = new RequestContext({
      ...{ id, method, url: PATH, baseUrl, ownUrl, address, headers, requestClass, route: PATH, log },
      ...{ signal: controller.signal, startedAt: clock.now(), response: null },
    })
    request.caller = caller
    return request
  }
  /** Whether the caller may read the Subscription, and it is one for WebSockets that runs. */
  const isThere = async (id: string): Promise<boolean> => {
    try {
      const { status, channel } = (await resources.as(asking()).read('Subscription', id)).parse()
      return status === 'active' && (channel as { readonly type?: string } | undefined)?.type === 'websocket'
    } catch (error) {
      if (isServerError(error) && error.status < 500) return false
      throw error
    }
  }
  const bind = async (text: string): Promise<void> => {
    const [, id] = BIND.exec(text) ?? []
    if (id === undefined) return socket.close(CLOSE.malformed, 'send bind and the id of a Subscription')
    if (one.bound.size >= MAX_BOUND) return socket.close(CLOSE.malformed, `at most ${MAX_BOUND} Subscriptions`)
    if (!(await isThere(id))) return socket.close(CLOSE.unknown, 'there is no such active Subscription for WebSockets')
    one.bound.add(id)
    socket.send(`bound ${id}`)
  }
  const check = async (): Promise<void> => {
    try {
      const found = await identify(raw, response, PATH)
      if (found !== undefined && nameOf({ caller: found }) !== nameOf(ctx))
        return socket.close(CLOSE.unauthorized, 'the token is of somebody else')
      caller = found ?? caller
    } catch (error) {
      if (!isServerError(error) || error.status >= 500) throw error
      return socket.close(CLOSE.unauthorized, 'the token does not count any more')
    }
    for (const id of one.bound)
      if (!(await isThere(id))) return socket.close(CLOSE.unknown, 'a Subscription is not there or not active any more')
    socket.ping()
  }
  const failed = (error: unknown): void => {
    log.warn({ err: error }, 'a WebSocket of Subscriptions has failed')
    socket.close(CLOSE.failed, 'the server has failed')
  }
  const checks = every(clock, CHECK_MS, check, failed)
  sockets.add(one)
  // Messages are handled one after the other, so that answers come in their order.
  let before: Promise<void> = Promise.resolve()
  socket.on('message', (data, isBinary) => {
    if (isBinary) return socket.close(CLOSE.malformed, 'messages are text')
    before = before.then(() => bind(textOf(data))).catch(failed)
    return undefined
  })
  // An error event without a listener would end the process. The connection closes in any case.
  socket.on('error', () => undefined)
  return async () => {
    sockets.remove(one)
    controller.abort()
    await checks.stop()
  }
}

export const webSocketRoute =
  (parts: WebSocketRouteParts): FastifyPluginCallback =>
  (app, _options, done) => {
    const { sockets, limits, isReader } = parts
    let server: Promise<WebSocketServer> | undefined
    const load = (): Promise<WebSocketServer> => {
      server ??= import('ws').then(
        ({ WebSocketServer }) =>
          new WebSocketServer({ noServer: true, maxPayload: MESSAGE_BYTES, perMessageDeflate: false }),
      )
      return server
    }
    app.get(PATH, { config: { upgrade: true, requestClass: 'sync' } }, async ({ ctx, raw }, reply) => {
      if (isReader) throw SocketOnReplica()
      checkOrigin(ctx, reply.raw)
      const accepting = await load()
      if (sockets.size >= MAX_SOCKETS) throw SocketsFull(MAX_SOCKETS)
      const limited = limits?.sync.connect(ctx)
      const upgrade = ctx.takeUpgrade()
      if (upgrade === undefined) return limited?.close()
      let end: (() => Promise<void>) | undefined
      upgrade.socket.once('close', () => {
        limited?.close()
        void end?.()
      })
      accepting.handleUpgrade(raw, upgrade.socket, upgrade.head, (socket) => {
        end = serve({ parts, ctx, raw, response: reply.raw, socket })
        upgrade.stopping.addEventListener('abort', () => socket.close(CLOSE.stopping, 'the server stops'))
      })
    })
    done()
  }
