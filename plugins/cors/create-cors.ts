/**
 * Cross-origin requests, https://fetch.spec.whatwg.org/#http-cors-protocol. Credentials are never allowed: access is by
 * token, and what a browser sends by itself opens nothing.
 */
import type { Reply, RequestContext } from '../../kernel/index.ts'
import type { WebApps } from './service.ts'

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
const EXPOSED = [
  ...['Allow', 'Content-Location', 'ETag', 'Location', 'RateLimit', 'RateLimit-Policy', 'Retry-After'],
  ...['WWW-Authenticate', 'X-Request-Id'],
].join(', ')
const MAX_AGE_S = 3600 // for which a browser need not ask again
const MAX_NAMES = 1000 // characters of the list of header names

/** A list of header names. RFC 9110, section 5.6.1 */
const NAMES = /^[\w!#$%&'*+.^`|~-]+(?: *, *[\w!#$%&'*+.^`|~-]+)*$/

/** Says the same to everybody, before there is a token. */
const CAPABILITIES = '/metadata'

/** For the hook `arrive`. `origins` are as browsers send them. */
export const createCors = (origins: readonly string[], apps: WebApps | undefined) => {
  const own = new Set(origins)
  const open = new Set([CAPABILITIES, ...(apps?.openRoutes ?? [])])
  const closed = new Set(apps?.closedRoutes)
  // A sandboxed page and a file have the origin "null": that is nobody in particular.
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
      // Said to everybody: a cache must not give to a page what it kept of an answer to nobody's page.
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
