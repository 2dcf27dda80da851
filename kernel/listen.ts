/** Our own listener: a Fastify app with the limits and timeouts that an open port needs. */
import { lookup } from 'node:dns/promises'
import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyPluginCallback } from 'fastify'
import { createFront } from './direct.ts'
import {
  BodyTimeout,
  ChunkTooLarge,
  ExpectationUnknown,
  HeadersTooLarge,
  MalformedRequest,
  MethodRefused,
} from './errors.ts'
import type { MountOptions } from './http.ts'
import { HEADER_BYTES, MALFORMED_URL } from './http-guard.ts'
import { toOutcome } from './outcome.ts'
import type { ServerError } from './server-error.ts'
import { createTurns, type Turns } from './turns.ts'
import type { Upgrades } from './upgrades.ts'

const PARSER_HEADER_BYTES = 65_536 // above HEADER_BYTES, so that a long URL can be told from a long header
const BODY_BYTES = 64 * 1024 * 1024
const PARAM_CHARS = PARSER_HEADER_BYTES // never reached: what is too long for an id is answered like every other id

/** How long a connection may take, in milliseconds. */
export interface ConnectionLimits {
  /** For a head: what takes longer is a slow attack, not a slow line. */
  readonly headersMs: number
  /** For head and body together. */
  readonly requestMs: number
  /** How often the two above are looked at. */
  readonly checkMs: number
  /** Between two requests: above the 60 s after which common balancers let go themselves. */
  readonly keepAliveMs: number
  /** For an answer of which the client takes nothing. */
  readonly stallMs: number
  /** For a refused body to be read on, so that its sender sees the refusal. */
  readonly lingerMs: number
}

export const CONNECTION_LIMITS: ConnectionLimits = Object.freeze({
  headersMs: 10_000,
  requestMs: 25_000,
  checkMs: 2_000,
  keepAliveMs: 65_000,
  stallMs: 30_000,
  lingerMs: 1_000,
})

/** What Node's parser complains of, before there is a request. */
const fromParser = (code: string | undefined, { requestMs }: ConnectionLimits): ServerError => {
  if (code === 'HPE_HEADER_OVERFLOW') return HeadersTooLarge(`${HEADER_BYTES} bytes`)
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return BodyTimeout(requestMs / 1000)
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return ChunkTooLarge()
  return MalformedRequest('its head or framing breaks RFC 9112')
}

/** A complete answer written to a bare socket; the connection ends with it. */
const endSocket = (socket: Socket, error: ServerError, { lingerMs }: ConnectionLimits): void => {
  const body = JSON.stringify(toOutcome(error))
  const headers = Object.entries({
    'content-type': 'application/fhir+json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    ...error.extras.headers,
    connection: 'close',
  })
  socket.end(
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n` +
      `${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`,
  )
  const late = setTimeout(() => socket.destroy(), lingerMs)
  late.unref()
  socket.once('close', () => clearTimeout(late))
}

/** The answer to what the parser cannot read. A client that has part of another answer cannot be told. */
const refuse = (socket: Socket, error: Error, turns: Turns, limits: ConnectionLimits): void => {
  // Refused already: this is the rest of the same bytes, or the handler finding its connection closed.
  if (socket.writableEnded || socket.destroyed) return
  if (!socket.writable || turns.stateOf(socket) === 'answering') return void socket.destroy()
  endSocket(socket, fromParser((error as NodeJS.ErrnoException).code, limits), limits)
}

const guardServer = ({ server }: FastifyInstance, turns: Turns, limits: ConnectionLimits): void => {
  // Zero means that Node drops no line silently: checkHead counts them.
  server.maxHeadersCount = 0
  server.on('timeout', (socket: Socket) => {
    // Nothing moved. While the answer is still being made that is not the client's fault.
    if (turns.stateOf(socket) !== 'working') socket.destroy()
  })
  server.on('connection', (socket: Socket) => turns.linger(socket, limits.lingerMs))
  server.on('connect', (_request, socket: Socket) =>
    endSocket(socket, MethodRefused('CONNECT').with({ headers: { allow: 'GET, HEAD' } }), limits),
  )
  server.on('checkExpectation', (request: IncomingMessage, _response: ServerResponse) =>
    endSocket(request.socket, ExpectationUnknown(), limits),
  )
}

/**
 * The stream of a request without a body is over before it arrives, and says nothing any more (optimizeEmptyRequests).
 * So whoever waits for its end is given another one (preParsing), and the hook onRequestAbort is told here.
 */
const tellAbort = (request: IncomingMessage, response: ServerResponse): void => {
  if (!request.readableEnded) return
  response.on('close', () => {
    if (response.writableFinished) return
    request.aborted = true
    request.emit('close')
  })
}

/** A Fastify app, with what answers in front of its router. */
export interface OwnApp {
  readonly app: FastifyInstance
  /** Takes a request of any server. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void
}

export const createApp = async (
  house: FastifyPluginCallback<MountOptions>,
  limits: ConnectionLimits,
  upgrades: Upgrades,
): Promise<OwnApp> => {
  const { default: fastify } = await import('fastify')
  const turns = createTurns((socket) => socket.setTimeout(limits.stallMs))
  const stalls = new WeakSet<ServerResponse>()
  const front = createFront(turns)
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    if (front.answers(request, response)) return
    tellAbort(request, response)
    app.routing(request, response)
  }
  const app = fastify({
    logger: false,
    bodyLimit: BODY_BYTES,
    return503OnClosing: false, // while stopping we answer ourselves: an OperationOutcome, and /livez stays 200
    serverFactory: () =>
      createServer(
        {
          maxHeaderSize: PARSER_HEADER_BYTES,
          headersTimeout: limits.headersMs,
          requestTimeout: limits.requestMs,
          keepAliveTimeout: limits.keepAliveMs,
          connectionsCheckingInterval: limits.checkMs,
          requireHostHeader: false, // checkHead says it with an OperationOutcome
          shouldUpgradeCallback: upgrades.leavesHttp,
          optimizeEmptyRequests: true, // most requests have no body, and a stream for it takes longer than the rest
        },
        (request, response) => {
          handle(request, response)
          // Most answers have left by now. A timer of the server's would be set anew four times for each of them. One that
          // has no socket waits for its turn, and the time is that of the answer before it.
          if (!response.writableFinished && response.socket !== null && !stalls.has(response))
            request.socket.setTimeout(limits.stallMs)
        },
      ),
    routerOptions: { maxParamLength: PARAM_CHARS },
    // What no router can read takes the way of all requests, so that it is limited, counted and logged as they are.
    frameworkErrors: (_error, request, reply) => {
      request.raw.url = MALFORMED_URL
      app.routing(request.raw, reply.raw)
    },
    clientErrorHandler: (error, socket) => refuse(socket as Socket, error, turns, limits),
  })
  guardServer(app, turns, limits)
  app.server.on('upgrade', (request, socket, head) => upgrades.receive(request, socket, head, handle))
  app.addHook('onRequest', (request, reply, done) => turns.take(request.raw, reply.raw, done))
  app.addHook('preParsing', ({ raw, headers }, _reply, payload, done) =>
    // Without a type nothing is parsed.
    done(null, raw.readableEnded && headers['content-type'] !== undefined ? Readable.from([]) : payload),
  )
  app.register(house, {
    front,
    stall(response, ms) {
      stalls.add(response)
      response.req.socket.setTimeout?.(ms ?? 0) // an injected request has none
    },
  })
  try {
    await app.ready()
  } catch (error) {
    await app.close()
    throw error
  }
  return { app, handle }
}

/** Opens `host:port` and resolves with its address. */
export const openPort = async (app: FastifyInstance, bind: string): Promise<string> => {
  const at = bind.lastIndexOf(':')
  const host = bind.slice(0, at).replace(/^\[|\]$/g, '')
  // For this name Fastify opens a second server, which has none of our guards and which stop cannot cut.
  const address = host === 'localhost' ? (await lookup(host)).address : host
  return app.listen({ host: address, port: Number(bind.slice(at + 1)) })
}
