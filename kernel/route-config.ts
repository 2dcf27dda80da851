/** What a route declares besides its path: the `config` of Fastify's route options. */
import type { IncomingHttpHeaders } from 'node:http'
import type { RouteOptions } from 'fastify'
import type { RequestClass } from './context.ts'

export interface RouteConfig {
  /** Cost and quota class; `read` when unset. */
  requestClass?: RequestClass
  /**
   * The hook `relay` is called, and may answer in place of the route. With the name of a request header, in lower case:
   * only for requests that have it.
   */
  relay?: boolean | string
  /** Awaited before `relay` is called: stores what this server still holds in memory of what the route shows. */
  beforeRelay?: () => Promise<void>
  /**
   * Milliseconds without a byte after which the connection is cut while the answer goes out; null for streams that may
   * be silent.
   */
  stallMs?: number | null
  /**
   * Answers are compressed where the client accepts it. Not for routes whose answers hold a secret, such as a token of a
   * form, beside text that the sender of the request chose.
   */
  compress?: boolean
  /** JSON answers to GET may be shown in another form, such as a page for a browser: kernel/presentation.ts. */
  presents?: boolean
  /** The route takes the connection of a WebSocket; a request that offers none is answered with 426. */
  upgrade?: boolean
  /**
   * A WebSocket whose first message may hold the token, because pages cannot set its headers. While `request.awaitsToken`
   * is true the route shows nothing before `host.identify` has found a caller.
   */
  takesTokenLater?: boolean
  /** It only refuses methods that its address does not take. Descriptions of the server leave it out. */
  isRefusal?: boolean
  /** For descriptions of the server: what it does, in a sentence, and the parameters of its query. */
  summary?: string
  query?: readonly string[]
}

declare module 'fastify' {
  interface FastifyContextConfig extends RouteConfig {}
}

const HEADER = /^[a-z0-9-]+$/
const MAX_MS = 2 ** 31 - 1 // what a timer of Node can wait

/** What makes the hook `relay` be called for a request of a route: true, or the name of a header; false where nothing does. */
export const relayedBy = (relay: RouteConfig['relay'], headers: IncomingHttpHeaders): boolean | string =>
  typeof relay === 'string' && headers[relay] === undefined ? false : (relay ?? false)

/** What is wrong with the config of a route, or undefined. */
const faultOf = (config: RouteConfig, methods: readonly string[], bare: boolean): string | undefined => {
  const { relay = false, stallMs, upgrade, takesTokenLater } = config
  if (takesTokenLater === true && upgrade !== true) return 'only a WebSocket can take its token later'
  if (bare && (relay !== false || upgrade === true || stallMs !== undefined))
    return 'a bare route passes no hook, so it has no relay, upgrade or stallMs'
  if (relay !== false && upgrade === true) return 'a connection that is taken cannot be relayed'
  if (typeof relay === 'string' && !HEADER.test(relay)) return 'relay names a request header in lower case'
  if (stallMs !== undefined && stallMs !== null && !(Number.isInteger(stallMs) && stallMs > 0 && stallMs <= MAX_MS))
    return 'stallMs is a number of milliseconds, or null'
  if (upgrade === true && methods.some((method) => method !== 'GET' && method !== 'HEAD'))
    return 'a WebSocket is asked for with GET'
  return undefined
}

/** Throws a TypeError that names the route. */
export const checkRoute = ({ method, url, config = {} }: RouteOptions, bare: boolean): void => {
  const fault = faultOf(config, [method].flat(), bare)
  if (fault !== undefined) throw new TypeError(`the route ${url}: ${fault}`)
}
