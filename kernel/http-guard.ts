/** What HTTP/1.1 lets through and a server of patients' data does not: ambiguous heads. RFC 9112, section 3.2. */
import type { IncomingMessage } from 'node:http'
import { HeadersTooLarge, MalformedRequest, type ServerError, UrlTooLong } from './errors.ts'

export const URL_BYTES = 8_192
export const HEADER_BYTES = 16_384
export const HEADER_LINES = 200

/** Headers of which a second line would leave the meaning to whoever reads first. */
const ONCE = new Set(['host', 'content-type', 'content-length', 'authorization', 'content-encoding'])

/** The refusal of an ambiguous or oversized head, or undefined. */
export const checkHead = (raw: IncomingMessage): ServerError | undefined => {
  const url = raw.url ?? ''
  if (url.length > URL_BYTES) return UrlTooLong(URL_BYTES)
  const { rawHeaders } = raw
  if (rawHeaders.length > HEADER_LINES * 2) return HeadersTooLarge(`${HEADER_LINES} lines`)
  let bytes = 0
  let seen = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    bytes += name.length + (rawHeaders[at + 1] as string).length + 4
    // Most names are none of the five; their lengths tell without lower-casing.
    const { length } = name
    if (length !== 4 && length !== 12 && length !== 13 && length !== 14 && length !== 16) continue
    const lower = name.toLowerCase()
    if (!ONCE.has(lower)) continue
    const bit = 1 << (length === 4 ? 0 : length === 12 ? 1 : length === 13 ? 2 : length === 14 ? 3 : 4)
    if ((seen & bit) !== 0) return MalformedRequest(`the header ${lower} is given twice`)
    seen |= bit
  }
  if (bytes > HEADER_BYTES) return HeadersTooLarge(`${HEADER_BYTES} bytes`)
  if (raw.httpVersionMajor >= 1 && raw.httpVersionMinor >= 1 && (seen & 1) === 0)
    return MalformedRequest('the header host is missing')
  if (url.charCodeAt(0) !== 47 && url !== '*') {
    const host = URL.parse(url)?.host
    if (host === undefined || host !== raw.headers.host) return MalformedRequest('the URL names another host')
  }
  return undefined
}
