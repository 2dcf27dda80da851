/** Requests in progress on a host's server, which the kernel does not close: `stop` waits for them. */
import type { ServerResponse } from 'node:http'

export interface InFlight {
  add(response: ServerResponse): void
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
      // The client left before the host passed its request on. A response that waited for another one emits no `close` then.
      if (response.closed || response.req?.socket?.destroyed) return
      responses.add(response)
      response.once('close', () => {
        responses.delete(response)
        if (responses.size === 0) empty?.()
      })
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
