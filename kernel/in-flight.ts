/** Requests in progress on a host's server, which the kernel does not close: `stop` waits for them. */
import type { ServerResponse } from 'node:http'

export interface InFlight {
  /** Returns false where the client left before the host passed its request on: nobody would learn what was done. */
  add(response: ServerResponse): boolean
  /** Resolves when none is left; when `late` aborts, the connections are cut. */
  finish(late: AbortSignal): Promise<void>
}

export const createInFlight = (): InFlight => {
  const responses = new Set<ServerResponse>()
  let empty: (() => void) | undefined
  const cut = (): void => {
    for (const response of responses) response.destroy()
  }
  return {
    add(response) {
      // Not only `closed`: a response that waited for another one emits no `close` when the client leaves.
      if (response.closed || response.req?.socket?.destroyed) return false
      responses.add(response)
      response.once('close', () => {
        responses.delete(response)
        if (responses.size === 0) empty?.()
      })
      return true
    },
    async finish(late) {
      if (responses.size === 0) return
      const done = new Promise<void>((resolve) => {
        empty = resolve
      })
      if (late.aborted) cut()
      else late.addEventListener('abort', cut, { once: true })
      await done
      late.removeEventListener('abort', cut)
    },
  }
}
