/**
 * Reports what each request used to `meter`, once: after the last byte, or when its client has left. Bytes are those
 * that crossed the connection since the request before, heads included.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from './clock.ts'
import type { RequestContext } from './context.ts'
import type { Runners } from './freeze.ts'
import { CLIENT_LEFT } from './leave-signal.ts'

const SWITCHED = 101 // the route wrote this status itself

/** Bytes of a connection that were counted for its earlier requests. */
interface Charged {
  read: number
  written: number
}

/** Has the headers of an injected request's answer, which no connection counts. */
interface Sent {
  getHeader(name: string): unknown
}

const lengthOf = (header: unknown): number => Number(header ?? 0) || 0

export interface UsageWatch {
  /** Called when a request begins. */
  begins(ctx: RequestContext, request: IncomingMessage, response: ServerResponse, sent: Sent): void
  /**
   * Called when a request begins that is not reported to `meter`: its bytes are charged to no request, so that they are
   * not counted for the next one.
   */
  skips(request: IncomingMessage, response: ServerResponse): void
  /** Called for a refusal that was written to the connection itself, which it ends. */
  refused(ctx: RequestContext, socket: Socket, status: number): void
}

/** `isTaken` is true for a response whose connection a route took for a WebSocket. */
export const createUsageWatch = (
  meter: NonNullable<Runners['meter']>,
  clock: Clock,
  isTaken: (response: ServerResponse) => boolean,
): UsageWatch => {
  const connections = new WeakMap<Socket, Charged>()

  /** Bytes that crossed a connection since the last call; undefined for an injected request, which has no connection. */
  const charge = (socket: Socket): { readonly bytesIn: number; readonly bytesOut: number } | undefined => {
    const { bytesRead, bytesWritten }: Partial<Pick<Socket, 'bytesRead' | 'bytesWritten'>> = socket
    if (bytesRead === undefined || bytesWritten === undefined) return undefined
    const charged = connections.get(socket)
    if (charged === undefined) {
      connections.set(socket, { read: bytesRead, written: bytesWritten })
      return { bytesIn: bytesRead, bytesOut: bytesWritten }
    }
    const bytesIn = bytesRead - charged.read
    const bytesOut = bytesWritten - charged.written
    charged.read = bytesRead
    charged.written = bytesWritten
    return { bytesIn, bytesOut }
  }

  return {
    begins(ctx, request, response, sent) {
      const { socket } = request
      const began = clock.monotonic()
      const end = (): void => {
        const status = response.headersSent
          ? ctx.recordedStatus(response.statusCode)
          : isTaken(response)
            ? SWITCHED
            : CLIENT_LEFT
        // An injected request has no connection, so only its bodies are counted.
        const { bytesIn, bytesOut } = charge(socket) ?? {
          bytesIn: lengthOf(request.headers['content-length']),
          bytesOut: lengthOf(sent.getHeader('content-length')),
        }
        const duration = clock.monotonic() - began
        meter({ request: ctx, relayed: ctx.relayed, status, bytesIn, bytesOut, duration })
      }
      // Emitted once, after the last byte or when the client has left: so `on` will do, which costs less than `once`.
      response.on('close', end)
    },
    skips({ socket }, response) {
      response.on('close', () => charge(socket))
    },
    refused(ctx, socket, status) {
      const began = clock.monotonic()
      socket.on('close', () => {
        const { bytesIn = 0, bytesOut = 0 } = charge(socket) ?? {}
        meter({ request: ctx, relayed: undefined, status, bytesIn, bytesOut, duration: clock.monotonic() - began })
      })
    },
  }
}
