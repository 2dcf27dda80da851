/** Our own listener: a Fastify app with the limits and timeouts that an open port needs. */
import { lookup } from 'node:dns/promises'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyPluginCallback } from 'fastify'
import { BodyTimeout, HeadersTooLarge, MalformedRequest, MalformedUrl, type ServerError } from './errors.ts'
import { HEADER_BYTES } from './http-guard.ts'
import { toOutcome } from './outcome.ts'

const HEADERS_MS = 10_000 // a head that takes longer is a slow attack, not a slow line
const REQUEST_MS = 25_000 // head and body together
const CHECK_MS = 2_000 // how often the two above are looked at
const KEEP_ALIVE_MS = 65_000 // above the 60 s after which common balancers let go themselves
const PARSER_HEADER_BYTES = 65_536 // above HEADER_BYTES, so that a long URL can be told from a long header
const BODY_BYTES = 64 * 1024 * 1024
const PARAM_CHARS = 256 // longer than any type or id, so that a long one is a 404 of its own

/** What Node's parser complains of, before there is a request. */
const fromParser = (code: string | undefined): ServerError => {
  if (code === 'HPE_HEADER_OVERFLOW') return HeadersTooLarge(`${HEADER_BYTES} bytes`)
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return BodyTimeout(REQUEST_MS / 1000)
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return HeadersTooLarge('what a chunk extension may hold')
  return MalformedRequest('its head or framing breaks RFC 9112')
}

/** A complete answer written to a bare socket; the connection ends with it. */
const endSocket = (socket: Socket, error: ServerError, phrase: string): void => {
  if (!socket.writable || socket.bytesWritten > 0) return void socket.destroy()
  const body = JSON.stringify(toOutcome(error))
  socket.end(
    `HTTP/1.1 ${error.status} ${phrase}\r\ncontent-type: application/fhir+json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}

export const createApp = async (house: FastifyPluginCallback): Promise<FastifyInstance> => {
  const { default: fastify } = await import('fastify')
  const app = fastify({
    logger: false,
    bodyLimit: BODY_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: REQUEST_MS,
    return503OnClosing: false, // while stopping we answer ourselves: an OperationOutcome, and /livez stays 200
    http: {
      maxHeaderSize: PARSER_HEADER_BYTES,
      headersTimeout: HEADERS_MS,
      connectionsCheckingInterval: CHECK_MS,
      requireHostHeader: false, // checkHead says it with an OperationOutcome
    },
    routerOptions: { maxParamLength: PARAM_CHARS },
    // Typed by Fastify as if a route with a schema answered; there is no route yet.
    frameworkErrors: (_error, _request, reply: any) => {
      reply.code(400).header('content-type', 'application/fhir+json; charset=utf-8')
      reply.send(JSON.stringify(toOutcome(MalformedUrl())))
    },
    clientErrorHandler: (error, socket) => {
      const known = fromParser((error as NodeJS.ErrnoException).code)
      endSocket(socket as Socket, known, known.status === 431 ? 'Request Header Fields Too Large' : 'Bad Request')
    },
  })
  // Zero means that Node drops no line silently: checkHead counts them.
  app.server.maxHeadersCount = 0
  app.server.on('connect', (_request, socket: Socket) => {
    socket.end('HTTP/1.1 405 Method Not Allowed\r\nallow: GET, HEAD\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
  })
  app.register(house)
  try {
    await app.ready()
  } catch (error) {
    await app.close()
    throw error
  }
  return app
}

/** Opens `host:port` and resolves with its address. */
export const openPort = async (app: FastifyInstance, bind: string): Promise<string> => {
  const at = bind.lastIndexOf(':')
  const host = bind.slice(0, at).replace(/^\[|\]$/g, '')
  // For this name Fastify opens a second server, which has none of our guards and which stop cannot cut.
  const address = host === 'localhost' ? (await lookup(host)).address : host
  return app.listen({ host: address, port: Number(bind.slice(at + 1)) })
}
