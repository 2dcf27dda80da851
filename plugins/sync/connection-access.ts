/** Who a connection belongs to: asked of the hook `authenticate` again for each token, and from time to time. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Caller, type Clock, type Host, type Logger, RequestContext } from '../../kernel/index.ts'
import { CallerChanged } from './errors.ts'

export interface ConnectionAccess {
  readonly caller: Caller
  /** Milliseconds since the epoch; undefined where nothing ends by itself. */
  readonly expiresAt: number | undefined
  /** Names client and user. */
  readonly name: string
  /** A request of the caller as it is now. */
  request(): RequestContext
  /** Takes another token. Throws 401, also for one of another caller than before, and 429. */
  authenticate(token: string): Promise<void>
  /** Asks for the same token again. Throws 401. */
  recheck(): Promise<void>
}

export interface ConnectionAccessParts {
  /** The request that opened the connection. */
  readonly opened: RequestContext
  readonly raw: IncomingMessage
  readonly response: ServerResponse
  readonly identify: Host['identify']
  readonly route: string
  readonly clock: Clock
  readonly log: Logger
  /** Aborts when the connection closes. */
  readonly signal: AbortSignal
}

const nameOf = ({ kind, client = '', user = '' }: Caller): string => JSON.stringify([kind, client, user])

export const createConnectionAccess = (parts: ConnectionAccessParts): ConnectionAccess => {
  const { opened, raw, response, identify, route, clock, log, signal } = parts
  let headers = opened.headers
  let caller = opened.caller
  /** Undefined as long as nobody has said who it is. */
  let name = opened.awaitsToken ? undefined : nameOf(caller)

  const identifyWith = async (given: IncomingMessage['headers']): Promise<Caller | undefined> => {
    // The head of the request that opened the connection, but for what says who calls.
    const asked: IncomingMessage = Object.create(raw, { headers: { value: given } })
    return identify(asked, response, route)
  }
  const take = (found: Caller, given: IncomingMessage['headers']): void => {
    const foundName = nameOf(found)
    const isNobody = found.kind === 'anonymous' && (opened.awaitsToken || caller.kind !== 'anonymous')
    if (isNobody || (name !== undefined && name !== foundName)) throw CallerChanged()
    name = foundName
    caller = found
    headers = given
  }
  return {
    get caller() {
      return caller
    },
    get expiresAt() {
      return caller.expiresAt
    },
    get name() {
      return name ?? ''
    },
    request() {
      const request = new RequestContext({
        ...{ id: opened.id, method: opened.method, url: route, baseUrl: opened.baseUrl, ownUrl: opened.ownUrl },
        ...{ address: opened.address, headers, requestClass: opened.requestClass, route, log, signal },
        startedAt: clock.now(),
        response: null,
      })
      request.caller = caller
      return request
    },
    async authenticate(token) {
      const given = { ...opened.headers, authorization: `Bearer ${token}` }
      const found = await identifyWith(given)
      // Where no plugin distinguishes callers, a token has no meaning.
      if (found !== undefined) take(found, given)
    },
    async recheck() {
      const found = await identifyWith(headers)
      if (found !== undefined) take(found, headers)
    },
  }
}
