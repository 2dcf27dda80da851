/** Refuses ambiguous and oversized request heads, some of which HTTP/1.1 allows. RFC 9112, section 3.2. */
import type { IncomingMessage } from 'node:http'
import { HeadersTooLarge, MalformedRequest, MalformedUrl, UrlTooLong } from './errors.ts'
import type { ServerError } from './server-error.ts'

export const URL_BYTES = 8_192
export const HEADER_BYTES = 16_384
export const HEADER_LINES = 200
/** Stands for a URL that cannot be decoded. */
export const MALFORMED_URL = '/.malformed-url'

/** Headers that may be given once only: with two lines, a proxy and this server might each use another one. */
const ONCE: readonly string[] = [
  ...['host', 'content-type', 'content-length', 'authorization', 'content-encoding'],
  // Node joins its values to one, which would be another criterion.
  'if-none-exist',
]

// RFC 9110, section 7.2. Links of answers may begin with this header.
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~-]+)(?::\d{1,5})?$/
const OCTET = '(?:\\d|[1-9]\\d|1\\d\\d|2[0-4]\\d|25[0-5])'
/** A name whose last label begins with a letter, or an IPv4 address, and a port below 60000. */
const PLAIN_HOST = new RegExp(
  `^(?:(?:[a-z0-9-]+\\.)*[a-z][a-z0-9-]*|(?:${OCTET}\\.){3}${OCTET})(?::(?:\\d{1,4}|[1-5]\\d{4}))?$`,
  'i',
)
/**
 * The syntax alone takes a port such as 99999 and an address such as 1.2.3.999, so the URL parser decides. Most hosts are
 * plain ones, which it always accepts, and asking it takes longer than the rest of this check.
 */
const isHost = (host: string): boolean => PLAIN_HOST.test(host) || (HOST.test(host) && URL.canParse(`http://${host}`))

/**
 * The refusal of a request target that does not begin with a slash, or undefined. RFC 9112, section 3.2: the
 * asterisk-form is for OPTIONS, the authority-form for CONNECT, which never gets here, and the absolute-form is taken
 * with any method.
 */
const checkTarget = (url: string, method: string | undefined, host: string | undefined): ServerError | undefined => {
  if (url === '*')
    return method === 'OPTIONS'
      ? undefined
      : MalformedRequest('the target * is for OPTIONS only; send a path such as /')
  const target = URL.parse(url)
  if (target === null || !/^https?:\/\//i.test(url))
    return MalformedRequest('the target is neither a path nor an http or https URL')
  if (target.username !== '' || target.password !== '') return MalformedRequest('the URL holds a user or password')
  // The Host header is parsed too, so that both are in lower case and without a default port.
  const expected = host === undefined ? undefined : URL.parse(`${target.protocol}//${host}`)?.host
  return target.host === expected ? undefined : MalformedRequest('the URL names another host')
}

/** Gives the refusal of an ambiguous or oversized head, or undefined. */
export type HeadCheck = (raw: IncomingMessage) => ServerError | undefined

/** The check remembers one host, since almost all requests name the same one. */
export const createHeadCheck = (): HeadCheck => {
  let accepted: string | undefined
  const isAccepted = (host: string): boolean => {
    if (host === accepted) return true
    if (!isHost(host)) return false
    accepted = host
    return true
  }
  return (raw) => checkHead(raw, isAccepted)
}

const checkHead = (raw: IncomingMessage, isAccepted: (host: string) => boolean): ServerError | undefined => {
  const url = raw.url ?? ''
  if (url.length > URL_BYTES) return UrlTooLong(URL_BYTES)
  if (url === MALFORMED_URL) return MalformedUrl()
  const { rawHeaders } = raw
  if (rawHeaders.length > HEADER_LINES * 2) return HeadersTooLarge(`${HEADER_LINES} lines`)
  let bytes = 0
  let seen = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    bytes += name.length + (rawHeaders[at + 1] as string).length + 4
    // Most names are none of these, and their length shows it without lower-casing them.
    const { length } = name
    if (length !== 4 && length !== 12 && length !== 13 && length !== 14 && length !== 16) continue
    const lower = name.toLowerCase()
    const found = ONCE.indexOf(lower)
    if (found === -1) continue
    const bit = 1 << found
    if ((seen & bit) !== 0) return MalformedRequest(`the header ${lower} is given twice`)
    seen |= bit
  }
  if (bytes > HEADER_BYTES) return HeadersTooLarge(`${HEADER_BYTES} bytes`)
  // Node accepts 0.9 and 2.0 as versions of the same protocol.
  if (raw.httpVersionMajor !== 1) return MalformedRequest('the version is neither 1.0 nor 1.1')
  const { host, 'transfer-encoding': coding } = raw.headers
  // RFC 9112, section 6.1. Node accepts any codings before chunked, and does not decode them.
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    return MalformedRequest('its transfer coding is not chunked alone; compress with Content-Encoding: gzip')
  if (host === undefined) {
    if (raw.httpVersionMinor > 0) return MalformedRequest('the header host is missing')
  } else if (!isAccepted(host)) return MalformedRequest('the header host is not a host and port')
  return url.charCodeAt(0) === 47 ? undefined : checkTarget(url, raw.method, host)
}
