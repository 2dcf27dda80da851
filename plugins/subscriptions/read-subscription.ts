/** Reads and checks what a Subscription requests. https://hl7.org/fhir/R4/subscription.html */
import type { AllowedHosts } from './allowed-hosts.ts'
import { ChannelUnsupported, CriteriaRefused, SubscriptionRefused } from './errors.ts'
import { readHeaders, type SentHeaders } from './read-headers.ts'
import type { SubscriptionChannel } from './tables.ts'

const CRITERIA = /^([A-Z][A-Za-z]{0,63})(?:\?(.*))?$/s
const CRITERIA_LENGTH = 4_096
const PAYLOAD = 'application/fhir+json'

export interface RequestedSubscription {
  readonly channel: SubscriptionChannel
  readonly type: string
  /** Search parameters. */
  readonly query: string
  /** Empty for a WebSocket. */
  readonly endpoint: string
  readonly headers: SentHeaders
  /** Whether resources are sent. */
  readonly hasPayload: boolean
  /** Milliseconds since the epoch; 0 where it has no end. */
  readonly ends: number
}

export interface ChannelRules {
  /** Undefined where no rest-hook is allowed. */
  readonly hosts: AllowedHosts | undefined
  readonly hasWebSocket: boolean
}

type Json = Readonly<Record<string, unknown>>

const refusedAt = (why: string, expression: string) =>
  SubscriptionRefused(why).with({ expression: [`Subscription.${expression}`] })

const readChannel = (
  channel: Json,
  { hosts, hasWebSocket }: ChannelRules,
): Pick<RequestedSubscription, 'channel' | 'endpoint' | 'headers' | 'hasPayload'> => {
  const { type, endpoint, payload, header } = channel
  const unsupported = (why: string) =>
    ChannelUnsupported(String(type).slice(0, 32), why).with({ expression: ['Subscription.channel.type'] })
  if (type === 'websocket') {
    if (!hasWebSocket) throw unsupported('The operator can allow it with [subscriptions] websocket.')
    const extra = [endpoint, payload, header].some((one) => one !== undefined)
    if (extra) throw refusedAt('a websocket is only pinged, so it has no endpoint, payload or header', 'channel')
    return { channel: 'websocket', endpoint: '', headers: {}, hasPayload: false }
  }
  if (type !== 'rest-hook') throw unsupported('Use rest-hook or websocket.')
  if (hosts === undefined) throw unsupported('The operator can allow hosts with [subscriptions] rest_hook_hosts.')
  if (typeof endpoint !== 'string') throw refusedAt('a rest-hook has a channel.endpoint', 'channel.endpoint')
  if (payload !== undefined && payload !== PAYLOAD)
    throw refusedAt(`channel.payload is ${PAYLOAD}, or left out`, 'channel.payload')
  const fault = hosts.fault(endpoint)
  if (fault !== undefined) throw refusedAt(fault, 'channel.endpoint')
  const hasPayload = payload !== undefined
  if (hasPayload && endpoint.includes('?'))
    throw refusedAt('with a payload, type and id are added to channel.endpoint, so it has no query', 'channel.endpoint')
  const lines = Array.isArray(header) ? header : header === undefined ? [] : [header]
  const headers = readHeaders(lines, (why) => refusedAt(why, 'channel.header'))
  return { channel: 'rest-hook', endpoint, headers, hasPayload }
}

/** Throws 422. */
export const readSubscription = (resource: Json, rules: ChannelRules): RequestedSubscription => {
  const { criteria, channel, end } = resource
  const text = typeof criteria === 'string' ? criteria : ''
  const [, type, query = ''] = text.length > CRITERIA_LENGTH ? [] : (CRITERIA.exec(text) ?? [])
  if (type === undefined)
    throw CriteriaRefused('they are not a search of one type.').with({ expression: ['Subscription.criteria'] })
  if (typeof channel !== 'object' || channel === null)
    throw SubscriptionRefused('it has no channel').with({ expression: ['Subscription.channel'] })
  const ends = end === undefined ? 0 : Date.parse(String(end))
  if (Number.isNaN(ends)) throw refusedAt('end is no instant', 'end')
  return { ...readChannel(channel as Json, rules), type, query, ends }
}
