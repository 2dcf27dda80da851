/** Which headers go on to the primary, and which come back. RFC 9110, section 7.6.1. */
import type { IncomingHttpHeaders } from 'node:http'
import { ConnectionNames } from './errors.ts'
import { RELAY_HEADER } from './relay-mark.ts'

/** They concern one connection. */
const HOP_BY_HOP = [
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authorization', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'http2-settings'],
] as const

/** Of a request: this server has answered Expect, and says in X-Relay where the request came from. */
const NOT_SENT: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  ...['expect', 'forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-port', 'x-forwarded-proto'],
  ...['x-real-ip', 'x-request-id', RELAY_HEADER],
])

/** Of an answer: this server sets its own. */
const NOT_RETURNED: ReadonlySet<string> = new Set([...HOP_BY_HOP, 'date', 'x-request-id'])

export type PassedHeaders = Record<string, string | string[]>

/** Headers that concern one connection because Connection names them. */
const namedBy = ({ connection }: IncomingHttpHeaders): ReadonlySet<string> =>
  new Set(connection?.split(',').map((name) => name.trim().toLowerCase()))

const without = (headers: IncomingHttpHeaders, dropped: ReadonlySet<string>): PassedHeaders => {
  const named = namedBy(headers)
  const passed: PassedHeaders = {}
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !dropped.has(name) && (!named.has(name) || name === 'host')) passed[name] = value
  return passed
}

/** They decide what a request does and for whom, so it must not be sent on without one of them. */
const MEANT = /^(?:authorization|cookie|origin|prefer|x-snapshot|(?:accept|content|if)-[a-z-]+|accept)$/

/** Throws ConnectionNames for a request that would be another one without the headers that Connection names. */
export const headersToSend = (headers: IncomingHttpHeaders): PassedHeaders => {
  for (const name of namedBy(headers)) if (MEANT.test(name) && headers[name] !== undefined) throw ConnectionNames(name)
  return without(headers, NOT_SENT)
}

export const headersToReturn = (headers: IncomingHttpHeaders): PassedHeaders => without(headers, NOT_RETURNED)
