/**
 * Cross-origin requests, https://fetch.spec.whatwg.org/#http-cors-protocol. Access-Control-Allow-Credentials is never
 * sent: callers send their token in a header, and the server reads no cookies.
 */
import type { Reply, RequestContext } from '../../kernel/index.ts'
import type { WebApps } from './service.ts'

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
const EXPOSED = [
  ...['Allow', 'Content-Location', 'ETag', 'Location', 'RateLimit', 'RateLimit-Policy', 'Retry-After'],
  ...['WWW-Authenticate', 'X-Request-Id', 'X-Snapshot', 'X-Trace-Id'],
].join(', ')
const MAX_AGE_S = 3600 // how long a browser may reuse the answer to a preflight
const MAX_NAMES = 1000 // characters; a longer Access-Control-Request-Headers is ignored

/** A list of header names. RFC 9110, section 5.6.1 */
const NAMES = /^[\w!#$%&'*+.^`|~-]+(?: *, *[\w!#$%&'*+.^`|~-]+)*$/

/**
 * Every origin may read the capability statement: it is the same for all callers, and clients read it before they have
 * a token.
 */
const CAPABILITIES = '/metadata'

/**
 * Makes the tap for the hook `arrive`: sets the CORS headers and answers a preflight with 204; for other requests it
 * returns undefined and they go on. `origins` are spelled as browsers send them in `Origin`.
 */
export const createCors = (origins: readonly string[], apps: WebApps | undefined) => {
  const own = new Set(origins)
  const open = new Set([CAPABILITIES, ...(apps?.openRoutes ?? [])])
  const closed = new Set(apps?.closedRoutes)
  // Browsers send the origin "null" for sandboxed pages and local files. It identifies no app, so it is not allowed.
  const isAllowed = (origin: string): boolean =>
    own.has(origin) || (origin !== 'null' && apps?.hasOrigin(origin) === true)

  const preflight = ({ headers }: RequestContext): Reply => {
    const names = headers['access-control-request-headers']
    const isList = typeof names === 'string' && names.length <= MAX_NAMES && NAMES.test(names)
    return {
      status: 204,
      headers: {
        'access-control-allow-methods': METHODS,
        'access-control-max-age': String(MAX_AGE_S),
        ...(isList && { 'access-control-allow-headers': names }),
      },
    }
  }

  return (request: RequestContext): Reply | undefined => {
    const { route = '', method, headers } = request
    if (closed.has(route)) return undefined
    const { origin } = headers
    if (open.has(route)) request.setHeader('access-control-allow-origin', '*')
    else {
      // `Vary: Origin` is sent also when the origin is not allowed. Otherwise a shared cache could serve that answer,
      // which has no CORS headers, to a page of an allowed origin.
      request.varyBy('Origin')
      if (typeof origin !== 'string' || !isAllowed(origin)) return undefined
      request.setHeader('access-control-allow-origin', origin)
    }
    if (method === 'OPTIONS' && headers['access-control-request-method'] !== undefined) {
      request.varyBy('Access-Control-Request-Headers')
      return preflight(request)
    }
    if (origin !== undefined) request.setHeader('access-control-expose-headers', EXPOSED)
    return undefined
  }
}
