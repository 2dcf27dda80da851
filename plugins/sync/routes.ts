/** GET /sync, a WebSocket, and POST /sync, which gives the same messages as Server-Sent Events. Spec: Endpoints. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyPluginCallback } from 'fastify'
import type { WebSocketServer } from 'ws'
import type { Host, Logger, RequestContext, Runners } from '../../kernel/index.ts'
import { toServerError } from '../../kernel/index.ts'
import { type Channel, CLOSE } from './channel.ts'
import { Connection } from './connection.ts'
import { createConnectionAccess } from './connection-access.ts'
import type { ConnectionParts } from './connection-parts.ts'
import { EventsOnly, MessageMalformed, OriginRefused, ParameterUnknown } from './errors.ts'
import { createEventStreamChannel } from './event-stream-channel.ts'
import type { Held, OpenConnections } from './open-connections.ts'
import { loadReadMessages, type ReadMessages } from './read-message.ts'
import { createShownPatients } from './shown-patients.ts'
import { createWebSocketChannel } from './web-socket-channel.ts'

const PATH = '/sync'
const MESSAGE_BYTES = 65_536
const EVENTS = 'text/event-stream'
const SOCKETS = { noServer: true, clientTracking: false, maxPayload: MESSAGE_BYTES, perMessageDeflate: false }

export interface SyncRoutesParts {
  readonly identify: Host['identify']
  readonly run: Runners
  readonly log: Logger
  readonly open: OpenConnections
  readonly connection: () => ConnectionParts
}

/**
 * Browsers let any page open a WebSocket, whatever the answer. So the rule of [cors] is applied here: a page of this
 * server, or one whose origin the plugin cors lets read answers.
 */
const checkOrigin = ({ headers: { origin, host } }: RequestContext, response: ServerResponse): void => {
  if (origin === undefined || response.getHeader('access-control-allow-origin') === origin) return
  if (URL.parse(origin)?.host !== host) throw OriginRefused()
}

/** Throws ParameterUnknown: what is asked for is in messages, and a token in a URL would be in logs. */
const refuseParameters = ({ url }: RequestContext): void => {
  const at = url.indexOf('?')
  const [name] = new URLSearchParams(at === -1 ? '' : url.slice(at + 1)).keys()
  if (name !== undefined) throw ParameterUnknown(name.slice(0, 64))
}

const acceptsEvents = (accept: string | undefined): boolean =>
  accept === undefined || /(?:^|[\s,])(?:text\/event-stream|text\/\*|\*\/\*)(?:$|[\s,;])/i.test(accept)

/** What both ways share: the connection's caller, its limits, and its place among all connections. */
const createOpener = ({ identify, run, log, open, connection }: SyncRoutesParts) => {
  return (ctx: RequestContext, raw: IncomingMessage, response: ServerResponse) => {
    const parts = connection()
    const releases: (() => void)[] = [open.admit()]
    const limited = (() => {
      try {
        return parts.limit?.(ctx)
      } catch (error) {
        releases[0]?.()
        throw error
      }
    })()
    const controller = new AbortController()
    const access = createConnectionAccess({
      ...{ opened: ctx, raw, response, identify, route: PATH, clock: parts.clock, log, signal: controller.signal },
    })
    const shown = createShownPatients(run, parts.clock)
    let held: Held | undefined
    /** Runs once, however the connection ends. */
    const over = (): void => {
      for (const release of releases.splice(0)) release()
      limited?.close()
      if (held !== undefined) open.remove(held)
      controller.abort()
    }
    return {
      over,
      on(channel: Channel & { tick(now: number): void }, pages: 'on request' | 'all'): Connection {
        const made = new Connection(parts, {
          ...{ channel, access, shown, limited, pages, awaitsToken: ctx.awaitsToken },
        })
        held = {
          tick() {
            channel.tick(parts.clock.monotonic())
            made.tick()
          },
          close: (code, reason) => made.close(code, reason),
        }
        open.add(held)
        return made
      },
    }
  }
}

export const syncRoutes =
  (parts: SyncRoutesParts): FastifyPluginCallback =>
  (app, _options, done) => {
    const opener = createOpener(parts)
    let loading: Promise<{ readonly read: ReadMessages; readonly sockets: WebSocketServer }> | undefined
    const load = () => {
      loading ??= (async () => {
        const [read, { WebSocketServer }] = await Promise.all([loadReadMessages(), import('ws')])
        const sockets = new WebSocketServer(SOCKETS)
        return { read, sockets }
      })()
      return loading
    }

    app.get(
      PATH,
      { config: { upgrade: true, requestClass: 'sync', takesTokenLater: true } },
      async ({ ctx, raw }, reply) => {
        checkOrigin(ctx, reply.raw)
        refuseParameters(ctx)
        const { read, sockets } = await load()
        const opened = opener(ctx, raw, reply.raw)
        const upgrade = ctx.takeUpgrade()
        if (upgrade === undefined) return opened.over()
        upgrade.socket.once('close', opened.over)
        sockets.handleUpgrade(raw, upgrade.socket, upgrade.head, (socket) => {
          const channel = createWebSocketChannel(socket, upgrade.socket, {
            message(text) {
              try {
                made.receive(read.message(text))
              } catch (error) {
                made.close(CLOSE.malformed, toServerError(error).message.slice(0, 120))
              }
            },
            drained: () => made.drained(),
            closed: () => made.closed(),
          })
          const made = opened.on(channel, 'on request')
          upgrade.stopping.addEventListener('abort', () => made.close(CLOSE.stopping, 'the server stops'))
          made.welcome()
        })
      },
    )

    app.removeAllContentTypeParsers()
    app.addContentTypeParser(
      'application/json',
      { parseAs: 'string', bodyLimit: MESSAGE_BYTES },
      (_request, text, next) => next(null, text),
    )
    app.post(PATH, { config: { requestClass: 'sync', stallMs: null } }, async ({ ctx, raw, body, headers }, reply) => {
      refuseParameters(ctx)
      if (!acceptsEvents(headers.accept)) throw EventsOnly()
      if (typeof body !== 'string') throw MessageMalformed('there is no body')
      const { read } = await load()
      const { queries } = read.queries(body)
      const opened = opener(ctx, raw, reply.raw)
      reply.raw.once('close', opened.over)
      const channel = createEventStreamChannel(reply.raw, {
        drained: () => made.drained(),
        closed: () => made.closed(),
      })
      const made = opened.on(channel, 'all')
      reply.headers({ 'content-type': EVENTS, 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
      made.welcome()
      for (const one of queries) made.receive({ op: 'subscribe', ...one })
      return reply.send(channel.body)
    })
    done()
  }
