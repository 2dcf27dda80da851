/**
 * What each request used, told to `meter` once: after the last byte, or when its client has left. Bytes are those that
 * crossed the connection since the request before, heads included.
 */
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Runners } from './freeze.ts'

const CLIENT_LEFT = 499 // what proxies write when there was nobody left to answer; never sent

/** Up to where a connection was charged. */
interface Charged {
  read: number
  written: number
}

const lengthOf = (header: unknown): number => Number(header ?? 0) || 0

/** What it gives is called when a request begins. */
export const createUsageWatch = (
  meter: NonNullable<Runners['meter']>,
): ((request: FastifyRequest, reply: FastifyReply) => void) => {
  const connections = new WeakMap<Socket, Charged>()

  /** Bytes in and out since the request before; of an injected request, which has no connection, those of the bodies. */
  const charge = (request: FastifyRequest, reply: FastifyReply): readonly [number, number] => {
    const { socket } = request.raw
    const { bytesRead, bytesWritten } = socket
    if (typeof bytesRead !== 'number' || typeof bytesWritten !== 'number')
      return [lengthOf(request.headers['content-length']), lengthOf(reply.getHeader('content-length'))]
    const charged = connections.get(socket)
    if (charged === undefined) {
      connections.set(socket, { read: bytesRead, written: bytesWritten })
      return [bytesRead, bytesWritten]
    }
    const bytes = [bytesRead - charged.read, bytesWritten - charged.written] as const
    charged.read = bytesRead
    charged.written = bytesWritten
    return bytes
  }
  return (request, reply) => {
    const { raw } = reply
    let isOver = false
    const end = (): void => {
      if (isOver) return
      isOver = true
      const [bytesIn, bytesOut] = charge(request, reply)
      const status = raw.headersSent ? raw.statusCode : CLIENT_LEFT
      meter({ request: request.ctx, status, bytesIn, bytesOut, duration: reply.elapsedTime })
    }
    // The first of the two: a client that leaves early never lets an answer finish.
    raw.on('finish', end).on('close', end)
  }
}
