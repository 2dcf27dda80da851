/** The WebSockets of this server, and the Subscriptions that each is bound to. */
import type { WebSocket } from 'ws'

const MAX_UNSENT = 65_536 // bytes; further pings are dropped, because those that wait already say that there are events

export interface BoundSocket {
  readonly socket: WebSocket
  readonly bound: Set<string>
}

export interface BoundSockets {
  readonly size: number
  add(one: BoundSocket): void
  remove(one: BoundSocket): void
  ping(subscription: string, events: number): void
  /** All of them, for checks that repeat. */
  all(): readonly BoundSocket[]
}

export const createBoundSockets = (): BoundSockets => {
  const sockets = new Set<BoundSocket>()
  return {
    get size() {
      return sockets.size
    },
    add: (one) => void sockets.add(one),
    remove: (one) => void sockets.delete(one),
    ping(subscription, events) {
      for (const { socket, bound } of sockets)
        if (bound.has(subscription))
          for (let n = 0; n < events && socket.bufferedAmount < MAX_UNSENT; n += 1) socket.send(`ping ${subscription}`)
    },
    all: () => [...sockets],
  }
}
