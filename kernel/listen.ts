/** Our own listener: a Fastify app with the limits and timeouts that an open port needs. */
import { lookup } from 'node:dns/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyPluginCallback } from 'fastify'
import { continueWhenRead } from './continue-when-read.ts'
import { createDirectRouter } from './direct-router.ts'
import {
  BodyTimeout,
  ChunkTooLarge,
  ExpectationUnknown,
  HeadersTooLarge,
  MalformedRequest,
  MethodRefused,
} from './errors.ts'
import { HEADER_BYTES, MALFORMED_URL } from './http-guard.ts'
import { httpModule } from './http-module.ts'
import type { MountOptions } from './http-parts.ts'
import { toOutcome } from './outcome.ts'
import { createPipelinedRequests, type PipelinedRequests } from './pipelining.ts'
import { schemaOptions } from './schema-compilers.ts'
import type { ServerError } from './server-error.ts'
import { type BareRefusal, type BareRefusals, createBareRefusals } from './unparsed.ts'
import type { Upgrades } from './upgrades.ts'
import { hasBody } from './websocket-head.ts'

// above HEADER_BYTES, so that checkHead sees whether the URL or the headers are too long
const PARSER_HEADER_BYTES = 65_536
const BODY_BYTES = 64 * 1024 * 1024
// never reached: a segment that is too long for an id is answered like any other wrong id
const PARAM_CHARS = PARSER_HEADER_BYTES

/** How long a connection may take, in milliseconds. */
export interface ConnectionLimits {
  /** For a head. One that takes longer is taken for an attack with slow requests. */
  readonly headersMs: number
  /** For head and body together. */
  readonly requestMs: number
  /** Interval at which Node checks the two above. */
  readonly checkMs: number
  /** Between two requests: more than the 60 s after which common load balancers close a connection. */
  readonly keepAliveMs: number
  /** For an answer of which the client reads nothing. */
  readonly stallMs: number
  /** How long the rest of a refused body is read, so that its sender sees the refusal. */
  readonly lingerMs: number
  /** For the answers before what ends a connection: bytes that are no request, CONNECT, an upgrade, its client's end. */
  readonly lastMs: number
}

export const CONNECTION_LIMITS: ConnectionLimits = Object.freeze({
  headersMs: 10_000,
  requestMs: 25_000,
  checkMs: 2_000,
  keepAliveMs: 65_000,
  stallMs: 30_000,
  lingerMs: 1_000,
  lastMs: 60_000,
})

/** Translates an error of Node's parser, which fails before there is a request. */
const fromParser = (code: string | undefined, { requestMs }: ConnectionLimits): ServerError => {
  if (code === 'HPE_HEADER_OVERFLOW') return HeadersTooLarge(`${HEADER_BYTES} bytes`)
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return BodyTimeout(requestMs / 1000)
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return ChunkTooLarge()
  return MalformedRequest('its head or framing breaks RFC 9112')
}

/** Writes a complete answer to the socket, and ends the connection. */
const endSocket = (
  error: ServerError,
  refusal: Omit<BareRefusal, 'status'>,
  refusals: BareRefusals,
  { lingerMs }: ConnectionLimits,
): void => {
  const { socket } = refusal
  refusals.report({ ...refusal, status: error.status })
  const body = JSON.stringify(toOutcome(error))
  const headers = Object.entries({
    'content-type': 'application/fhir+json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    ...error.extras.headers,
    connection: 'close',
  })
  socket.end(
    `HTTP/1.1 ${error.status} ${httpModule.STATUS_CODES[error.status]}\r\n` +
      `${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`,
  )
  const late = setTimeout(() => socket.destroy(), lingerMs)
  late.unref()
  socket.once('close', () => clearTimeout(late))
}

/** Properties that Node sets on an error of its parser. */
interface ParserError {
  readonly code?: string | undefined
  readonly rawPacket?: unknown
  readonly bytesParsed?: number | undefined
}

/** Parameters of the functions that write to a bare socket. */
interface Bare {
  readonly turns: PipelinedRequests
  readonly refusals: BareRefusals
  readonly limits: ConnectionLimits
}

const UNREPORTED: BareRefusals = { report: () => undefined, open: () => undefined }

/**
 * Answers what the parser cannot read, after the answers to the requests before it. A client that has received part of
 * the answer to the request whose body is broken cannot be answered; its connection is cut.
 */
const refuse = (socket: Socket, error: ParserError, { turns, refusals, limits }: Bare): void => {
  // The client has left, or a handler found its connection closed.
  if (socket.writableEnded || socket.destroyed) return
  if (!socket.writable) return void socket.destroy()
  const { code, rawPacket, bytesParsed: parsed } = error
  const bytes = Buffer.isBuffer(rawPacket) ? rawPacket : undefined
  turns.whenAnswered(socket, () => {
    const state = turns.stateOf(socket)
    if (state === 'answering') return void socket.destroy()
    // Metered here only between requests: a request in progress is metered by itself, and a client that sent no byte
    // made none.
    const isOwn = state === 'idle' && socket.bytesRead > 0
    endSocket(fromParser(code, limits), { socket, bytes, parsed }, isOwn ? refusals : UNREPORTED, limits)
  })
}

/**
 * Takes a connection from which Node has removed its parser and its listeners: CONNECT or an upgrade. `go` is called
 * after the answers to the requests before it.
 */
const takeOver = (socket: Socket, turns: PipelinedRequests, go: () => void): void => {
  // An error that nobody listens to ends the process.
  socket.on('error', () => undefined)
  const drained = (): void => turns.drained(socket)
  socket.on('drain', drained)
  turns.whenAnswered(socket, () => {
    socket.off('drain', drained)
    go()
  })
}

const guardServer = ({ server }: FastifyInstance, { turns, refusals, limits }: Bare): void => {
  // Zero means that Node drops no line silently: checkHead counts them.
  server.maxHeadersCount = 0
  server.on('timeout', (socket: Socket) => {
    // No byte moved for the time limit. While the answer is still being made, that is not the client's fault.
    if (turns.stateOf(socket) !== 'working') socket.destroy()
  })
  // Node would end the connection at once, and the answer to a change in progress would be lost.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.on('connection', (socket: Socket) => {
    turns.linger(socket, limits.lingerMs)
    socket.on('end', () => turns.halfClosed(socket))
  })
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    const error = MethodRefused('CONNECT').with({ headers: { allow: 'GET, HEAD' } })
    takeOver(socket, turns, () => endSocket(error, { socket, request }, refusals, limits))
    socket.resume()
  })
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (hasBody(request)) continueWhenRead(request, response)
    server.emit('request', request, response)
  })
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    turns.take(request, response, () =>
      endSocket(ExpectationUnknown(), { socket: request.socket, request }, refusals, limits),
    ),
  )
}

/**
 * With optimizeEmptyRequests, the stream of a request without a body has ended before the request arrives, and emits no
 * more events. So a parser that waits for its end gets another stream (preParsing), and Fastify learns here that the
 * client left, which calls the hook onRequestAbort.
 */
const signalAbort = (request: IncomingMessage, response: ServerResponse): void => {
  if (!request.readableEnded) return
  response.on('close', () => {
    if (response.writableFinished) return
    request.aborted = true
    request.emit('close')
  })
}

/**
 * Decodes `%24` at the beginning of a path segment: clients may encode the dollar of an operation, and the router takes
 * the two spellings for different paths. RFC 3986, section 6.2.2.2.
 */
const withPlainDollar = (url: string): string => {
  if (!url.includes('/%24')) return url
  const query = url.indexOf('?')
  const end = query === -1 ? url.length : query
  return url.slice(0, end).replaceAll('/%24', '/$') + url.slice(end)
}

/** A Fastify app, with what answers in front of its router. */
export interface OwnApp {
  readonly app: FastifyInstance
  /** Handles a request of any HTTP server. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void
  /** Cuts all connections but those that a route took. */
  readonly cut: () => void
}

export const createApp = async (
  house: FastifyPluginCallback<MountOptions>,
  limits: ConnectionLimits,
  upgrades: Upgrades,
): Promise<OwnApp> => {
  const { default: fastify } = await import('fastify')
  const turns = createPipelinedRequests({
    onTurn: (socket) => socket.setTimeout(limits.stallMs),
    lastMs: limits.lastMs,
  })
  const stalls = new WeakSet<ServerResponse>()
  const front = createDirectRouter(turns)
  const refusals = createBareRefusals()
  const bare: Bare = { turns, refusals, limits }
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    if (front.answers(request, response)) return
    signalAbort(request, response)
    app.routing(request, response)
  }
  const app = fastify({
    logger: false,
    bodyLimit: BODY_BYTES,
    ...schemaOptions(),
    return503OnClosing: false, // while stopping we answer ourselves: an OperationOutcome, and /livez stays 200
    serverFactory: () =>
      httpModule.createServer(
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
          // Most answers are sent by now and need no timeout; one on the server would be reset four times for each of
          // them. A response without a socket waits for the answer before it, whose timeout applies.
          if (!response.writableFinished && response.socket !== null && !stalls.has(response))
            request.socket.setTimeout(limits.stallMs)
        },
      ),
    rewriteUrl: ({ url = '' }) => withPlainDollar(url),
    routerOptions: { maxParamLength: PARAM_CHARS },
    // A URL that the router cannot read is routed again as a fixed one, so that it is limited, counted and logged like
    // all requests.
    frameworkErrors: (_error, request, reply) => {
      request.raw.url = MALFORMED_URL
      app.routing(request.raw, reply.raw)
    },
    clientErrorHandler: (error, socket) => refuse(socket as Socket, error, bare),
  })
  guardServer(app, bare)
  app.server.on('upgrade', (request, socket, head) =>
    takeOver(socket as Socket, turns, () => upgrades.receive(request, socket, head, handle)),
  )
  app.addHook('onRequest', (request, reply, done) => turns.take(request.raw, reply.raw, done))
  app.addHook('preParsing', ({ raw, headers }, _reply, payload, done) =>
    // Fastify parses no body without a content type.
    done(null, raw.readableEnded && headers['content-type'] !== undefined ? Readable.from([]) : payload),
  )
  app.register(house, {
    front,
    refusals,
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
  const cut = (): void => {
    app.server.closeAllConnections()
    turns.cut()
  }
  return { app, handle, cut }
}

/** Opens `host:port` and resolves with its address. */
export const openPort = async (app: FastifyInstance, bind: string): Promise<string> => {
  const at = bind.lastIndexOf(':')
  const host = bind.slice(0, at).replace(/^\[|\]$/g, '')
  // For the name `localhost` Fastify would open a second server, without our guards and out of reach of a stop.
  const address = host === 'localhost' ? (await lookup(host)).address : host
  return app.listen({ host: address, port: Number(bind.slice(at + 1)) })
}
