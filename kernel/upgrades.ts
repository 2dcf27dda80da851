/**
 * Requests that ask for a WebSocket. Node hands their connection out and forgets it: nothing of its server answers on it,
 * notices its errors or closes it. Such a request is given a response of its own on the connection and goes to the router as
 * every other, so that hooks, class, limits and refusals are those of every request; its route may take the connection.
 */
import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { UpgradeRefused } from './errors.ts'
import type { ServerError } from './server-error.ts'
import { asksForWebSocket, checkHandshake, hasBody, upgradeRequired } from './websocket-head.ts'

/** A connection that a route took. The handshake is still to be answered: `ws` does it with `noServer`. */
export interface Upgrade {
  readonly socket: Duplex
  /** What the client sent behind its request. */
  readonly head: Buffer
  /** Aborted when the server begins to stop: say goodbye. What is open 8 seconds later is cut. */
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
  /** A route takes upgrades; as long as none does, no request leaves HTTP. */
  declare(): void
  /** The `shouldUpgradeCallback` of our own port. */
  leavesHttp(request: IncomingMessage): boolean
  /** The event `upgrade` of any server, whose requests go to `route`. */
  receive(request: IncomingMessage, socket: Duplex, head: Buffer, route: Route): void
  /** What takes the connection of this answer, once; the refusal where there is nothing to take: 426 or 400. */
  offer(response: ServerResponse): (() => Upgrade | undefined) | ServerError
  isTaken(response: ServerResponse): boolean
  /** Tells those that are open. Resolves when there is none left, or when `late` aborts: then they are cut. */
  stop(late: AbortSignal): Promise<void>
}

interface Offered {
  readonly request: IncomingMessage
  readonly socket: Socket
  readonly head: Buffer
  /** Goes on with an answer that had to wait for its client. */
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

  /** It was answered as HTTP: that ends the connection, after the client had time to read. */
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
    // Nothing moved. While the answer is still being made that is not the client's fault.
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
      // Node's own listener left with the parser, and an error that nobody listens to ends the process.
      socket.on('error', () => undefined)
      if (socket.destroyed) return
      const response = new ServerResponse(request)
      response.shouldKeepAlive = false
      try {
        response.assignSocket(socket)
      } catch {
        // The answer before this one is not done, and its bytes and ours would mix.
        socket.destroy()
        return
      }
      const offered: Offered = { request, socket, head, drain: () => void response.emit('drain') }
      offers.set(response, offered)
      watch(offered, response)
      // A host that lets everything leave HTTP: without its parser the body cannot be told from what follows.
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
        // Half of a WebSocket is none: a client that leaves ends the connection, whether the route listens or not.
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
