/**
 * Handles one request of a connection at a time, and loses no answer. Node emits all requests that arrived in one read,
 * so ten kilobytes of pipelined requests would have a thousand answers made and kept in memory for a client that reads
 * none. RFC 9112, sections 9.3.2 and 9.6.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface PipelinedRequests {
  /** Calls `go` when the answers before this one are sent; never, if the client has left by then. */
  take(request: IncomingMessage, response: ServerResponse, go: () => void): void
  /** True when `take` would call `go` at once. */
  isFree(request: IncomingMessage): boolean
  /** What is being answered on this connection: nothing, a request without an answer yet, or an answer on its way. */
  stateOf(socket: Socket): 'idle' | 'working' | 'answering'
  /**
   * Closing a connection that has unread bytes resets it, and the client loses the answer that explains why. So a
   * connection that ends in the middle of a request is read for another `ms` milliseconds.
   */
  linger(socket: Socket, ms: number): void
}

interface Connection {
  /** The request that arrived last. */
  latest: ServerResponse
  /** The request that is being answered. */
  current: ServerResponse
}

/** Calls `onTurn` when a request that had to wait may start. */
export const createPipelinedRequests = (onTurn?: (socket: Socket) => void): PipelinedRequests => {
  const connections = new WeakMap<Socket, Connection>()
  return {
    take(request, response, go) {
      const { socket } = request
      // The last answer was sent; what still arrives is discarded.
      if (socket.writableEnded) return
      const connection = connections.get(socket)
      if (connection === undefined) {
        connections.set(socket, { latest: response, current: response })
        return go()
      }
      const before = connection.latest
      // The direct router has started it, so it already has its turn.
      if (before === response) return go()
      connection.latest = response
      const start = (): void => {
        connection.current = response
        go()
      }
      if (before.writableFinished) return start()
      before.once('close', () => {
        if (socket.destroyed || socket.writableEnded) return
        onTurn?.(socket)
        start()
      })
    },
    isFree({ socket }) {
      const before = connections.get(socket)?.latest
      return !socket.writableEnded && (before === undefined || before.writableFinished)
    },
    stateOf(socket) {
      const response = connections.get(socket)?.current
      if (response === undefined || response.writableFinished) return 'idle'
      return response.headersSent ? 'answering' : 'working'
    },
    linger(socket, ms) {
      const close = socket.destroySoon.bind(socket)
      socket.destroySoon = () => {
        const request = connections.get(socket)?.current.req
        if (request === undefined || request.complete || socket.destroyed) return close()
        socket.end()
        request.resume()
        const late = setTimeout(() => socket.destroy(), ms)
        late.unref()
        socket.once('close', () => clearTimeout(late))
      }
    },
  }
}
