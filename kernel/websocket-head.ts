/** The head that a request for a WebSocket must have. RFC 6455, section 4.2.1. */
import type { IncomingMessage } from 'node:http'
import { MalformedRequest, UpgradeRequired } from './errors.ts'
import type { ServerError } from './server-error.ts'

const VERSION = '13'
const KEY = /^[+/0-9A-Za-z]{22}==$/ // 16 bytes

/** True for a request with a body, which comes before anything else on its connection. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/**
 * True for a request for a WebSocket: the `shouldUpgradeCallback` of a server. Java's client offers h2c with every
 * request, and expects a plain HTTP answer.
 */
export const asksForWebSocket = (request: IncomingMessage): boolean => {
  const { method, httpVersion, headers } = request
  return (
    method === 'GET' &&
    httpVersion === '1.1' &&
    /(?:^|[\s,])websocket(?:$|[\s,])/i.test(headers.upgrade ?? '') &&
    !hasBody(request)
  )
}

/** 426 with the headers that RFC 9110, section 15.5.22, and RFC 6455, section 4.4, ask for. */
export const upgradeRequired = (): ServerError =>
  UpgradeRequired().with({
    headers: { upgrade: 'websocket', connection: 'upgrade, close', 'sec-websocket-version': VERSION },
  })

/** The refusal of a handshake that cannot be completed, or undefined. */
export const checkHandshake = ({ headers }: IncomingMessage): ServerError | undefined => {
  if (headers['sec-websocket-version'] !== VERSION) return upgradeRequired()
  if (!KEY.test(headers['sec-websocket-key'] ?? ''))
    return MalformedRequest('the header sec-websocket-key is not 16 bytes in base64')
  return undefined
}
