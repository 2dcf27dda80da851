/** The signal that aborts the work of a request when its client leaves. */
import type { EventEmitter } from 'node:events'

/** The status that proxies log for a client that left before the answer; never sent. */
export const CLIENT_LEFT = 499

/** The connection of a request. It emits `end` when the client closes its side. */
interface ClientSocket extends EventEmitter {
  readonly readableEnded?: boolean
  readonly destroyed?: boolean
  readonly writable?: boolean
}

/** What the context of a request needs of its response. */
export interface ContextResponse extends EventEmitter {
  readonly writableFinished: boolean
  readonly req?: { readonly socket: ClientSocket }
  setHeader(name: string, value: string | readonly string[]): unknown
}

/**
 * Aborted when the response closes before it is finished, or the client closes its side of the connection. Never, for a
 * request without a response. `gone` is called before, if no byte can reach the client any more.
 */
export const leaveSignal = (response: ContextResponse | null, gone: () => void): AbortSignal => {
  const controller = new AbortController()
  if (response === null) return controller.signal
  const socket = response.req?.socket
  const leave = (): void => {
    if (socket?.writable === false) gone()
    controller.abort()
  }
  // A connection that the client has reset has no `end`, and its response may have emitted `close` before.
  if (socket?.readableEnded || (socket?.destroyed && !response.writableFinished)) leave()
  socket?.once('end', leave)
  response.once('close', () => {
    socket?.off('end', leave)
    if (!response.writableFinished) leave()
  })
  return controller.signal
}
