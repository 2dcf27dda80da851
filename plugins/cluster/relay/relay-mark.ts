/**
 * The header X-Relay, by which a server of the cluster says of a request that it let it pass, and where it came from:
 * `<server> <milliseconds> <client address> <MAC>`. The MAC covers these, the method, the URL and the request id.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'

export const RELAY_HEADER = 'x-relay'
/** Milliseconds that a mark is good for, and that two clocks may differ. */
export const GOOD_MS = 60_000

/** What a mark is made for. `url`: path and query, without the prefix of a mount. */
export interface MarkedRequest {
  readonly method: string
  readonly url: string
  readonly id: string
}

export interface Relayed {
  /** Id of the process that sent it. */
  readonly server: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The client's. */
  readonly address: string
}

export type MarkKey = KeyObject

const macOf = (key: MarkKey, { server, at, address }: Relayed, { method, url, id }: MarkedRequest): string =>
  createHmac('sha256', key).update([server, at, address, method, url, id].join('\n')).digest('base64url')

export const makeMark = (key: MarkKey, relayed: Relayed, request: MarkedRequest): string =>
  `${relayed.server} ${relayed.at} ${relayed.address} ${macOf(key, relayed, request)}`

const MARK = /^([A-Za-z0-9-]{1,64}) (\d{1,15}) ([0-9A-Fa-f:.]{2,45}) ([A-Za-z0-9_-]{43})$/

/** What the mark says; undefined where no server with this key made it for this request. It may be old. */
export const readMark = (key: MarkKey, text: string, request: MarkedRequest): Relayed | undefined => {
  const [, server, ms, address, mac] = MARK.exec(text) ?? []
  if (server === undefined || ms === undefined || address === undefined || mac === undefined) return undefined
  const relayed: Relayed = { server, at: Number(ms), address }
  const expected = macOf(key, relayed, request)
  return timingSafeEqual(Buffer.from(mac), Buffer.from(expected)) && isIP(address) !== 0 ? relayed : undefined
}
