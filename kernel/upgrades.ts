/**
 * Requests for a WebSocket. Node emits their connection and forgets it: its server neither answers on it, nor notices
 * its errors, nor closes it. Such a request gets a response of its own on the connection and goes to the router, so
 * that hooks, class, limits and refusals are those of every request; its route may take the connection.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { UpgradeRefused } from './errors.ts'
import { httpModule } from './http-module.ts'
import type { ServerError } from './server-error.ts'
import { asksForWebSocket, checkHandshake, hasBody, upgradeRequired } from './websocket-head.ts'

/** A connection that a route took. The handshake is still to be answered: `ws` does it with `noServer`. */
export interface Upgrade {
  readonly socket: Duplex
  /** What the client sent behind its request. */
  readonly head: Buffer
  /**
   * Aborted when the server begins to stop: the route should close the connection. One that is open 8 seconds later is
   * cut.
   */
  readonly stopping: AbortSignal
}

type Route = (request: IncomingMessage, response: ServerResponse) => void
type Refuse = (response: ServerResponse, error: ServerError) => void

export interface UpgradeTimes {
  /** Milliseconds for an answer of which the client takes nothing. */
  readonly stallMs: number
  /** Milliseconds for the client to read a refusal and close. */
  readonly lingerMs: number
}

export interface Upgrades {
  /** Called for each route that takes upgrades. Without any, all requests stay HTTP. */
  declare(): void
  /** The `shouldUpgradeCallback` of our own port. */
  leavesHttp(request: IncomingMessage): boolean
  /** Handles the event `upgrade` of a server. The request goes to `route`. */
  receive(request: IncomingMessage, socket: Duplex, head: Buffer, route: Route): void
  /**
   * Returns the function that takes the connection of this response, once; or the error where the request is not a
   * valid one for a WebSocket: 426 or 400.
   */
  offer(response: ServerResponse): (() => Upgrade | undefined) | ServerError
  isTaken(response: ServerResponse): boolean
  /** Aborts `stopping` of open connections. Resolves when none is left; when `late` aborts, they are cut. */
  stop(late: AbortSignal): Promise<void>
}

interface Offered {
  readonly request: IncomingMessage
  readonly socket: Socket
  readonly head: Buffer
  /** Resumes an answer that waited for its client to read. */
  readonly drain: () => void
  /** Set when it was taken. */
  stopping?: AbortController
}

export const createUpgrades = ({ stallMs, lingerMs }: UpgradeTimes, refuse: Refuse): Upgrades => {
  const open = new Set<Offered>()
  const offers = new WeakMap<ServerResponse, Offered>()
  let isDeclared = false
  let isStopping = false
  let empty: (() => void) | undefined

  /** Ends a connection that was answered as HTTP, after the client had time to read. */
  const end = (socket: Socket, response: ServerResponse): void => {
    response.detachSocket(socket)
    response.emit('close')
    socket.end()
    socket.resume()
    const late = setTimeout(() => socket.destroy(), lingerMs)
    late.unref()
    socket.once('close', () => clearTimeout(late))
  }

  const watch = (offered: Offered, response: ServerResponse): void => {
    const { socket } = offered
    open.add(offered)
    socket.once('close', () => {
      open.delete(offered)
      if (open.size === 0) empty?.()
    })
    socket.on('drain', offered.drain)
    // No byte moved for `stallMs`. While the answer is still being made, that is not the client's fault.
    socket.setTimeout(stallMs, () => {
      if (response.headersSent && offered.stopping === undefined) socket.destroy()
    })
    response.once('finish', () => end(socket, response))
  }

  return {
    declare() {
      isDeclared = true
    },
    leavesHttp: (request) => isDeclared && asksForWebSocket(request),
    receive(request, duplex, head, route) {
      const socket = duplex as Socket
      // Node removed its own listener with the parser, and an error that nobody listens to ends the process.
      socket.on('error', () => undefined)
      if (socket.destroyed) return
      const response = new httpModule.ServerResponse(request)
      response.shouldKeepAlive = false
      try {
        response.assignSocket(socket)
      } catch {
        // The answer before this one is not finished: its bytes would mix with ours.
        socket.destroy()
        return
      }
      const offered: Offered = { request, socket, head, drain: () => void response.emit('drain') }
      offers.set(response, offered)
      watch(offered, response)
      // A host may let every request with `Upgrade` leave HTTP: without the parser the end of a body cannot be found.
      if (hasBody(request)) refuse(response, UpgradeRefused())
      else route(request, response)
    },
    offer(response) {
      const offered = offers.get(response)
      if (offered === undefined || !asksForWebSocket(offered.request)) return upgradeRequired()
      const refused = checkHandshake(offered.request)
      if (refused !== undefined) return refused
      return () => {
        const { socket, head, drain } = offered
        if (offered.stopping !== undefined || socket.destroyed) return undefined
        offered.stopping = new AbortController()
        if (isStopping) offered.stopping.abort()
        socket.off('drain', drain)
        socket.setTimeout(0)
        // No half-open connections: when the client ends its side, the connection ends, whether the route listens or
        // not.
        socket.allowHalfOpen = false
        return { socket, head, stopping: offered.stopping.signal }
      }
    },
    isTaken: (response) => offers.get(response)?.stopping !== undefined,
    async stop(late) {
      isStopping = true
      for (const { stopping } of open) stopping?.abort()
      if (open.size === 0) return
      const done = new Promise<void>((resolve) => {
        empty = resolve
      })
      const cut = (): void => {
        for (const { socket } of open) socket.destroy()
      }
      if (late.aborted) cut()
      else late.addEventListener('abort', cut, { once: true })
      await done
      late.removeEventListener('abort', cut)
    },
  }
}
