/**
 * What each request used, told to `meter` once: after the last byte, or when its client has left. Bytes are those that
 * crossed the connection since the request before, heads included.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from './clock.ts'
import type { RequestContext } from './context.ts'
import type { Runners } from './freeze.ts'

const CLIENT_LEFT = 499 // what proxies write when there was nobody left to answer; never sent
const SWITCHED = 101 // what the route wrote itself

/** Up to where a connection was charged. */
interface Charged {
  read: number
  written: number
}

/** Who knows the length of an answer that no connection counts: of an injected request. */
interface Sent {
  getHeader(name: string): unknown
}

const lengthOf = (header: unknown): number => Number(header ?? 0) || 0

/** Called when a request begins. */
export type UsageWatch = (ctx: RequestContext, request: IncomingMessage, response: ServerResponse, sent: Sent) => void

/** `isTaken` tells of a response whose connection a route took for a WebSocket. */
export const createUsageWatch = (
  meter: NonNullable<Runners['meter']>,
  clock: Clock,
  isTaken: (response: ServerResponse) => boolean,
): UsageWatch => {
  const connections = new WeakMap<Socket, Charged>()

  return (ctx, request, response, sent) => {
    const { socket } = request
    const began = clock.monotonic()
    const end = (): void => {
      const status = response.headersSent ? response.statusCode : isTaken(response) ? SWITCHED : CLIENT_LEFT
      const { bytesRead, bytesWritten } = socket
      let bytesIn = bytesRead
      let bytesOut = bytesWritten
      if (typeof bytesRead !== 'number' || typeof bytesWritten !== 'number') {
        // An injected request has no connection: what it has are the bodies.
        bytesIn = lengthOf(request.headers['content-length'])
        bytesOut = lengthOf(sent.getHeader('content-length'))
      } else {
        const charged = connections.get(socket)
        if (charged === undefined) connections.set(socket, { read: bytesRead, written: bytesWritten })
        else {
          bytesIn -= charged.read
          bytesOut -= charged.written
          charged.read = bytesRead
          charged.written = bytesWritten
        }
      }
      meter({ request: ctx, status, bytesIn, bytesOut, duration: clock.monotonic() - began })
    }
    // Behind the last byte, or when the client has left. Comes once: `on` costs less than `once`.
    response.on('close', end)
  }
}
