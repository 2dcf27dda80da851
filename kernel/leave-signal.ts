/** The signal that aborts the work of a request when its client leaves. */
import type { EventEmitter } from 'node:events'

/** What the context of a request needs of its response. */
export interface ContextResponse extends EventEmitter {
  readonly writableFinished: boolean
  /** Its connection emits `end` when the client closes its side. */
  readonly req?: { readonly socket: EventEmitter & { readonly readableEnded?: boolean } }
  setHeader(name: string, value: string | readonly string[]): unknown
}

/**
 * Aborted when the response closes before it is finished, or the client closes its side of the connection. Never, for a
 * request without a response.
 */
export const leaveSignal = (response: ContextResponse | null): AbortSignal => {
  const controller = new AbortController()
  if (response === null) return controller.signal
  const socket = response.req?.socket
  const leave = (): void => controller.abort()
  if (socket?.readableEnded) leave()
  socket?.once('end', leave)
  response.once('close', () => {
    socket?.off('end', leave)
    if (!response.writableFinished) leave()
  })
  return controller.signal
}
