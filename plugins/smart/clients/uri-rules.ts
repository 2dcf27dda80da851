/** Which URIs a client may register: RFC 7591, section 5; RFC 8252, section 8.4; RFC 9700, section 2.1. */
import { isIP } from 'node:net'
import { isSpecialAddress } from '../../../kernel/index.ts'

const MAX_LENGTH = 2048 // characters
const PLAIN = /^[\x21-\x7e]+$/
/** Schemes that run code in a browser, read local data, or cannot receive a redirect. */
const DANGEROUS = new Set([
  'javascript:',
  'data:',
  'vbscript:',
  'blob:',
  'file:',
  'about:',
  'filesystem:',
  'ws:',
  'wss:',
])
/** A reversed domain name, which only the owner of the domain may use. RFC 8252, section 7.1 */
const CUSTOM_SCHEME = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/
/** What the answer adds to the query: a client that takes the first of two values would be misled. RFC 6749, 4.1.2 */
const OF_ANSWER = ['code', 'state', 'iss', 'error', 'error_description', 'error_uri']
const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost'])

/** True for the decimal text of a port that can be connected to, as URLs write it. */
export const isPort = (text: string): boolean => /^[1-9]\d{0,4}$/.test(text) && Number(text) < 65_536

/**
 * The reason why the text of an http or https URL names no host as RFC 3986 writes it. The parser of browsers and Node
 * reads a host into `https:a.example`, `https:///a.example` and backslashes too, but a browser takes the first one, in a
 * link or a redirect, for an address on this server.
 */
const authorityFault = (uri: string): string | undefined => {
  const authority = /^https?:\/\/([^/?#]+)/i.exec(uri)?.[1]
  if (authority === undefined || uri.includes('\\')) return 'it names no host behind ://'
  const port = /:(\d*)$/.exec(authority)?.[1]
  return port === undefined || isPort(port) ? undefined : 'its port is none from 1 to 65535'
}

/** The reason why a URI cannot be a redirect URI, without quoting it; undefined when it can. */
export const redirectUriFault = (uri: string, isNative: boolean): string | undefined => {
  if (uri.length > MAX_LENGTH) return 'it is longer than 2048 characters'
  if (!PLAIN.test(uri)) return 'it holds spaces or characters that are not ASCII'
  const url = URL.parse(uri)
  if (url === null) return 'it is not an absolute URI'
  if (uri.includes('#')) return 'it has a fragment'
  if (uri.includes('*')) return 'it has a wildcard'
  if (url.username !== '' || url.password !== '' || /^[a-z][a-z0-9+.-]*:\/\/[^/?]*@/i.test(uri))
    return 'it holds a user'
  if (OF_ANSWER.some((name) => url.searchParams.has(name))) return 'its query has a parameter of the answer'
  if (DANGEROUS.has(url.protocol)) return 'its scheme is not allowed'
  if (url.protocol === 'https:') return authorityFault(uri)
  if (url.protocol === 'http:')
    return LOOPBACK.has(url.hostname) ? authorityFault(uri) : 'http is allowed for the loopback address only'
  if (!isNative) return 'a scheme of its own is allowed for native applications only'
  return CUSTOM_SCHEME.test(url.protocol) ? undefined : 'its scheme is not a reversed domain name'
}

/**
 * The reason why keys cannot be fetched from the URL; undefined when they can. Host names are checked again when they
 * are resolved.
 */
export const jwksUriFault = (uri: string, insideHosts: ReadonlySet<string>): string | undefined => {
  if (uri.length > MAX_LENGTH || !PLAIN.test(uri)) return 'jwks_uri is too long or holds characters that are not ASCII'
  const url = URL.parse(uri)
  if (url === null || url.protocol !== 'https:' || authorityFault(uri) !== undefined)
    return 'jwks_uri is not an https URL'
  if (url.username !== '' || url.password !== '' || uri.includes('#')) return 'jwks_uri holds a user or a fragment'
  if (insideHosts.has(url.hostname)) return undefined
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const isInside =
    isIP(host) === 0 ? /^localhost\.?$|\.(localhost|local|internal)\.?$/i.test(host) : isSpecialAddress(host)
  return isInside ? 'jwks_uri leads to an address that is not public' : undefined
}

/** True for a URL that may be shown to people as a link. */
export const isWebUrl = (uri: string): boolean => {
  const url = uri.length <= MAX_LENGTH && PLAIN.test(uri) ? URL.parse(uri) : null
  const isWeb = url !== null && (url.protocol === 'https:' || url.protocol === 'http:')
  return isWeb && url.username === '' && authorityFault(uri) === undefined
}
