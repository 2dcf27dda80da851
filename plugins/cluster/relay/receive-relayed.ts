/**
 * Checks X-Relay on every server of a cluster. The primary takes the client's address from it, and leaves the limits to
 * the server that sent the request; who calls it finds out itself.
 */
import type { Clock, RequestContext } from '../../../kernel/index.ts'
import { RelayExpired, RelayForged, RelayLoop } from './errors.ts'
import { GOOD_MS, type MarkKey, RELAY_HEADER, readMark } from './relay-mark.ts'

export interface ReceiveParts {
  /** True where this server makes changes itself. */
  readonly isPrimary: boolean
  /** Known once the database is open. */
  readonly key: () => MarkKey
  readonly clock: Clock
}

/** Throws RelayForged, RelayExpired or RelayLoop. */
export const createReceive =
  ({ isPrimary, key, clock }: ReceiveParts) =>
  (request: RequestContext): undefined => {
    const mark = request.headers[RELAY_HEADER]
    if (mark === undefined) return undefined
    const { method, id, url } = request
    const relayed = typeof mark === 'string' && readMark(key(), mark, { method, id, url })
    if (!relayed) throw RelayForged()
    if (Math.abs(clock.now() - relayed.at) > GOOD_MS) throw RelayExpired(GOOD_MS / 1000)
    if (!isPrimary) throw RelayLoop()
    request.setAddress(relayed.address)
    request.markReceived()
    return undefined
  }
