/** Builds the RequestContext of an HTTP request from its head and its connection. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import type { Clock, Random } from './clock.ts'
import { RequestContext } from './context.ts'
import type { OwnUrl } from './own-url.ts'
import { type RouteConfig, relayedBy } from './route-config.ts'
import type { RequestLine } from './unparsed.ts'

export interface ContextParts {
  readonly readAddress: (peer: string, forwarded: string | readonly string[] | undefined) => string
  readonly publicUrl: OwnUrl | undefined
  /** Known from the moment the kernel listens, where `publicUrl` is not set. */
  readonly ownUrl: () => OwnUrl | undefined
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** `prefix` is that of the mount, `route` the path as it was declared. */
export type ContextBuilder = (
  request: IncomingMessage,
  response: ServerResponse | null,
  prefix: string,
  route: string | undefined,
  config: RouteConfig,
) => RequestContext

const SLASH = 0x2f
const ORIGIN = /^https?:\/\/[^/?#]*/i

/** Path and query of a request target, which may be a whole URL. RFC 9112, section 3.2.2. */
const pathOf = (target: string): string => {
  if (target.charCodeAt(0) === SLASH || !ORIGIN.test(target)) return target
  const path = target.replace(ORIGIN, '')
  return path.startsWith('/') ? path : `/${path}`
}

const WELL_FORMED_ID = /^[A-Za-z0-9][A-Za-z0-9._~:+/=-]{0,127}$/

export const createContextBuilder =
  ({ readAddress, publicUrl, ownUrl, clock, random, log }: ContextParts): ContextBuilder =>
  (request, response, prefix, route, { requestClass = 'read', relay, takesTokenLater = false }) => {
    const { headers, socket, method = 'GET' } = request
    const url = pathOf(request.url ?? '/')
    const given = headers['x-request-id']
    const secure = (socket as { encrypted?: boolean }).encrypted === true
    return new RequestContext({
      id: typeof given === 'string' && WELL_FORMED_ID.test(given) ? given : random.id(),
      method,
      url: prefix !== '' && url.startsWith(prefix) ? url.slice(prefix.length) || '/' : url,
      baseUrl: publicUrl ?? `${secure ? 'https' : 'http'}://${headers.host ?? 'localhost'}${prefix}`,
      ownUrl: ownUrl(),
      address: readAddress(socket.remoteAddress ?? '', headers['x-forwarded-for']),
      headers,
      requestClass,
      route,
      relays: relay !== undefined && relayedBy(relay, headers),
      takesTokenLater,
      startedAt: clock.now(),
      log,
      response,
    })
  }

const NO_HEADERS = Object.freeze({})

/**
 * Builds the context of bytes that could not be parsed. The address is that of the connection: X-Forwarded-For cannot
 * be trusted in a malformed head.
 */
export const createUnreadContextBuilder =
  ({ readAddress, publicUrl, ownUrl, clock, random, log }: ContextParts) =>
  ({ remoteAddress = '' }: { readonly remoteAddress?: string | undefined }, { method, url }: RequestLine) => {
    const own = ownUrl()
    return new RequestContext({
      id: random.id(),
      method,
      url,
      baseUrl: publicUrl ?? own ?? 'http://localhost',
      ownUrl: own,
      address: readAddress(remoteAddress, undefined),
      headers: NO_HEADERS,
      requestClass: 'read',
      route: undefined,
      startedAt: clock.now(),
      log,
      response: null,
    })
  }
