/**
 * Sends one request to the endpoint of a rest-hook. It follows no redirects, opens a connection for each notification, and
 * checks the address that the host resolved to before it sends anything.
 */
import type { LookupAddress } from 'node:dns'
import { lookup as resolveHost } from 'node:dns/promises'
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { type Clock, httpModule, isServerError } from '../../kernel/index.ts'
import type { AllowedHosts } from './allowed-hosts.ts'
import type { SentHeaders } from './read-headers.ts'

const TIMEOUT_MS = 10_000 // from the look-up of the name to the status of the answer

export interface Notification {
  readonly method: 'POST' | 'PUT'
  readonly url: string
  readonly headers: SentHeaders
  readonly subscription: string
  /** 0 for the handshake. */
  readonly number: number
  /** FHIR JSON. */
  readonly body: string | undefined
}

/** Resolves to the reason why the endpoint has not taken it, which contains no secrets; undefined when it has. */
export type SendNotification = (notification: Notification, signal: AbortSignal) => Promise<string | undefined>

class NotPublic extends Error {}

/** All addresses have to be allowed, because the owner of a name could mix public and internal ones. */
const lookupWithin =
  (hosts: AllowedHosts): LookupFunction =>
  (hostname, options, callback) => {
    const answer = (found: LookupAddress[]): void => {
      const [first] = found
      if (first === undefined || found.some(({ address }) => !hosts.allowsAddress(address)))
        callback(new NotPublic(), '', 4)
      else if (options.all === true) callback(null, found)
      else callback(null, first.address, first.family)
    }
    resolveHost(hostname, { all: true, family: options.family ?? 0 }).then(answer, (error) => callback(error, '', 4))
  }

/** A code such as ECONNREFUSED. The message is left out, because it may quote what was sent. */
const codeOf = (error: unknown): string => {
  const { code } = error as { readonly code?: unknown }
  return typeof code === 'string' && /^\w{1,64}$/.test(code) ? code : 'the connection failed'
}

export const createSendNotification = (hosts: AllowedHosts, clock: Pick<Clock, 'deadline'>): SendNotification => {
  const lookup = lookupWithin(hosts)
  const ask = ({ method, url, headers, subscription, number, body }: Notification, signal: AbortSignal) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const request = url.startsWith('https:') ? httpsRequest : httpModule.request
      const bytes = Buffer.from(body ?? '')
      const asked = request(
        url,
        {
          ...{ method, agent: false, signal, lookup },
          headers: {
            'user-agent': 'refhir',
            ...headers,
            ...(body !== undefined && { 'content-type': 'application/fhir+json; charset=utf-8' }),
            'content-length': bytes.length,
            'x-subscription': subscription,
            'x-event-number': String(number),
          },
        },
        resolve,
      )
      asked.on('error', reject)
      // An answer of 101 is no 'response' and no 'error'.
      asked.on('upgrade', (response, socket) => {
        socket.destroy()
        resolve(response)
      })
      asked.on('close', () => reject(new Error('the connection was closed')))
      // A URL with an address is not looked up, so the connection is checked as well.
      asked.on('socket', (socket) =>
        socket.once('connect', () => {
          if (!hosts.allowsAddress(socket.remoteAddress ?? '')) asked.destroy(new NotPublic())
        }),
      )
      asked.end(bytes)
    })
  return async (notification, signal) => {
    // The settings may have changed since the Subscription was stored.
    const fault = hosts.fault(notification.url)
    if (fault !== undefined) return fault
    const late = clock.deadline(TIMEOUT_MS)
    try {
      const response = await ask(notification, AbortSignal.any([signal, late]))
      const { statusCode = 0 } = response
      response.on('error', () => undefined)
      response.destroy()
      if (statusCode >= 200 && statusCode < 300) return undefined
      const isRedirect = statusCode >= 300 && statusCode < 400
      return `the endpoint answered with the status ${statusCode}${isRedirect ? ', and redirects are not followed' : ''}`
    } catch (error) {
      if (isServerError(error)) throw error
      if (late.aborted) return `the endpoint did not answer within ${TIMEOUT_MS / 1000} seconds`
      if (error instanceof NotPublic) return 'the host of the endpoint has an address that is not public'
      return `the endpoint could not be reached: ${codeOf(error)}`
    }
  }
}
