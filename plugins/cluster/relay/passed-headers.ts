/** Which headers go on to the primary, and which come back. RFC 9110, section 7.6.1. */
import type { IncomingHttpHeaders } from 'node:http'
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

/** Names in the header Connection concern one connection too. */
const without = (headers: IncomingHttpHeaders, dropped: ReadonlySet<string>): PassedHeaders => {
  const named = new Set(headers.connection?.split(',').map((name) => name.trim().toLowerCase()))
  const passed: PassedHeaders = {}
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !dropped.has(name) && (!named.has(name) || name === 'host')) passed[name] = value
  return passed
}

export const headersToSend = (headers: IncomingHttpHeaders): PassedHeaders => without(headers, NOT_SENT)

export const headersToReturn = (headers: IncomingHttpHeaders): PassedHeaders => without(headers, NOT_RETURNED)
