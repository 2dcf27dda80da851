/**
 * What each request used, told to `meter` once: after the last byte, or when its client has left. Bytes are those that
 * crossed the connection since the request before, heads included.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Runners } from './freeze.ts'

const CLIENT_LEFT = 499 // what proxies write when there was nobody left to answer; never sent

/** Up to where a connection was charged, and for which answer last. */
interface Charged {
  read: number
  written: number
  response: ServerResponse | undefined
}

export interface UsageWatch {
  /** When the request begins: a client that leaves early is charged too. */
  begin(request: FastifyRequest, reply: FastifyReply): void
  /** After the last byte. */
  end(request: FastifyRequest, reply: FastifyReply): void
}

const lengthOf = (header: unknown): number => Number(header ?? 0) || 0

export const createUsageWatch = (meter: NonNullable<Runners['meter']>): UsageWatch => {
  const connections = new WeakMap<Socket, Charged>()

  const end = (request: FastifyRequest, reply: FastifyReply): void => {
    const { ctx } = request
    const { raw } = reply
    // Null when a hook of an embedding host answered before it was our turn.
    if (ctx === null) return
    const { socket } = request.raw
    let charged = connections.get(socket)
    if (charged === undefined) {
      charged = { read: 0, written: 0, response: undefined }
      connections.set(socket, charged)
    }
    if (charged.response === raw) return
    charged.response = raw
    const { bytesRead, bytesWritten } = socket
    // An injected request has no connection.
    const isWired = typeof bytesRead === 'number' && typeof bytesWritten === 'number'
    const bytesIn = isWired ? bytesRead - charged.read : lengthOf(request.headers['content-length'])
    const bytesOut = isWired ? bytesWritten - charged.written : lengthOf(reply.getHeader('content-length'))
    if (isWired) {
      charged.read = bytesRead
      charged.written = bytesWritten
    }
    meter({
      request: ctx,
      status: raw.headersSent ? raw.statusCode : CLIENT_LEFT,
      bytesIn,
      bytesOut,
      duration: reply.elapsedTime,
    })
  }
  return {
    begin: (request, reply) => void reply.raw.once('close', () => end(request, reply)),
    end,
  }
}
