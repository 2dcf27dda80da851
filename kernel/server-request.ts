/** Requests that the server makes itself, for work without an HTTP request such as an export. */
import type { Logger } from 'pino'
import type { Clock, Random } from './clock.ts'
import { type Caller, type RequestClass, RequestContext } from './context.ts'
import { ServerPurpose } from './errors.ts'
import type { OwnUrl } from './own-url.ts'

export interface ServerRequest {
  /**
   * On whose behalf the work is done. It is not checked: `internal` is the server itself; any other caller must have
   * been authenticated before.
   */
  readonly caller: Caller
  /**
   * A word for logs and the audit trail, 1 to 64 of `A-Z a-z 0-9 . _ -`: `export`. The URL of the request is
   * `/-/export`.
   */
  readonly purpose: string
  /** Base of links; when left out `[server] public_url`, else the address that the kernel listens at. */
  readonly baseUrl?: string | undefined
  /** Aborting it cancels the work. Without it the work cannot be cancelled. */
  readonly signal?: AbortSignal | undefined
  /** `operation` when left out. */
  readonly requestClass?: RequestClass
}

export interface ServerRequestParts {
  readonly ownUrl: () => OwnUrl | undefined
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** `plugin` makes the request. Throws `ServerPurpose`. */
export type ServerRequests = (plugin: string, given: ServerRequest) => RequestContext

const PURPOSE = /^[A-Za-z0-9._-]{1,64}$/
const NO_HEADERS = Object.freeze({})
const NO_BASE = 'http://localhost'

export const createServerRequests =
  ({ ownUrl, clock, random, log }: ServerRequestParts): ServerRequests =>
  (plugin, { caller, purpose, baseUrl, signal, requestClass = 'operation' }) => {
    if (!PURPOSE.test(purpose)) throw ServerPurpose(plugin)
    const own = ownUrl()
    const request = new RequestContext({
      origin: 'server',
      id: random.id(),
      // Not GET, so that it is recorded in the audit trail where reads are not.
      method: 'POST',
      url: `/-/${purpose}`,
      baseUrl: baseUrl ?? own ?? NO_BASE,
      ownUrl: own,
      address: '',
      headers: NO_HEADERS,
      requestClass,
      route: undefined,
      startedAt: clock.now(),
      log,
      response: null,
      signal,
    })
    request.caller = caller
    return request
  }
