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
   * Calls `go` when the answers to all complete requests are sent, for what ends the connection and has no response of
   * its own: bytes that are no request, CONNECT, an upgrade. Never, if the connection has ended by then. A request whose
   * body is incomplete is not waited for, and does not start any more. Calls after the first have no effect.
   */
  whenAnswered(socket: Socket, go: () => void): void
  /** Passes `drain` of the connection to the answer on its way, where Node has removed its own listener. */
  drained(socket: Socket): void
  /**
   * Called where the client has closed its side: a change that has arrived is still answered. A read is given up,
   * because most such clients have left.
   */
  halfClosed(socket: Socket): void
  /** Cuts the connections that wait in `whenAnswered`; a server does not count those that have left HTTP. */
  cut(): void
  /**
   * Closing a connection that has unread bytes resets it, and the client loses the answer that explains why. So a
   * connection that ends in the middle of a request is read for another `ms` milliseconds.
   */
  linger(socket: Socket, ms: number): void
}

interface Connection {
  /** The request that arrived last. */
  latest: ServerResponse
  /** The one that arrived before it. */
  before: ServerResponse | undefined
  /** The request that is being answered. */
  current: ServerResponse
}

export interface PipeliningOptions {
  /** Called when a request that had to wait may start. */
  readonly onTurn: (socket: Socket) => void
  /** Milliseconds that a connection without further requests may wait for its answers; then it is cut. */
  readonly lastMs: number
}

const READS: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD'])

export const createPipelinedRequests = ({ onTurn, lastMs }: PipeliningOptions): PipelinedRequests => {
  const connections = new WeakMap<Socket, Connection>()
  /** Connections that take no more requests. */
  const ending = new WeakSet<Socket>()
  const waiting = new Set<Socket>()

  const limit = (socket: Socket): void => {
    if (waiting.has(socket)) return
    waiting.add(socket)
    const late = setTimeout(() => socket.destroy(), lastMs)
    late.unref()
    socket.once('close', () => {
      clearTimeout(late)
      waiting.delete(socket)
    })
  }
  return {
    take(request, response, go) {
      const { socket } = request
      // The last answer was sent; what still arrives is discarded.
      if (socket.writableEnded) return
      const connection = connections.get(socket)
      if (connection === undefined) {
        connections.set(socket, { latest: response, before: undefined, current: response })
        return go()
      }
      const before = connection.latest
      // The direct router has started it, so it already has its turn.
      if (before === response) return go()
      // Node has given it the connection, so it is the next to be answered: a host has passed on a later request before it.
      if (response.socket !== null && !before.writableFinished) {
        connection.current = response
        return go()
      }
      connection.before = before
      connection.latest = response
      const start = (): void => {
        connection.current = response
        go()
      }
      if (before.writableFinished) return start()
      let hasTurn = false
      const take = (): void => {
        if (hasTurn || socket.destroyed || socket.writableEnded) return
        if (ending.has(socket) && !request.complete) return
        hasTurn = true
        onTurn(socket)
        start()
      }
      before.once('close', take)
      // A host has passed on a later request before this one, so `before` waits for it. Otherwise `close` follows.
      response.once('socket', () => {
        if (!before.writableFinished) take()
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
    whenAnswered(socket, go) {
      if (ending.has(socket)) return
      ending.add(socket)
      const connection = connections.get(socket)
      if (connection === undefined) return go()
      const { latest, before } = connection
      const last = latest.req.complete ? latest : before
      // Node gives the connection to the next response when it emits `finish`, and `close` after that.
      if (last === undefined || last.closed) return go()
      limit(socket)
      last.once('close', () => {
        if (!socket.destroyed && !socket.writableEnded) go()
      })
    },
    drained: (socket) => void connections.get(socket)?.current.emit('drain'),
    halfClosed(socket) {
      const connection = connections.get(socket)
      if (connection === undefined || connection.latest.closed || socket.writableEnded) return
      if (READS.has(connection.current.req.method)) socket.end()
      else limit(socket)
    },
    cut() {
      for (const socket of waiting) socket.destroy()
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
