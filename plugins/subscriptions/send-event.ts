/** Sends one event of a Subscription to its endpoint. */
import { isServerError } from '../../kernel/index.ts'
import type { Session } from '../fhir/service.ts'
import type { OwnerSession } from './owner-session.ts'
import type { RequestedSubscription } from './read-subscription.ts'
import type { SendNotification } from './send-notification.ts'
import type { EventRow, StateRow } from './tables.ts'

/** Resolves to the reason why the endpoint has not taken the event; undefined when it has, and where there is nothing to send. */
export type SendEvent = (
  row: StateRow,
  asked: RequestedSubscription,
  event: EventRow,
  signal: AbortSignal,
) => Promise<string | undefined>

export interface SendEventParts {
  readonly send: SendNotification
  readonly ownerSession: OwnerSession
  /** Reads without an event in the audit trail. */
  readonly server: Pick<Session, 'read'>
}

export const createSendEvent = ({ send, ownerSession, server }: SendEventParts): SendEvent => {
  /** The event that was read as its owner, so that the audit trail gets one read however often the event is sent. */
  let known: string | undefined

  /** Undefined where the owner may not see the version, or it does not exist any more. */
  const bodyOf = async (row: StateRow, { number, type, id, version }: EventRow): Promise<string | undefined> => {
    const key = `${row.version}.${number}`
    try {
      // Read at each attempt: the version may have been erased since the one before.
      const { json } = await (known === key ? server : ownerSession(row)).read(type, id, version)
      known = key
      return json
    } catch (error) {
      if (isServerError(error) && error.status < 500) return undefined
      throw error
    }
  }
  return async (row, { endpoint, headers, hasPayload }, event, signal) => {
    const about = { headers, subscription: row.id, number: event.number }
    if (!hasPayload) return send({ ...about, method: 'POST', url: endpoint, body: undefined }, signal)
    const body = await bodyOf(row, event)
    if (body === undefined) return undefined
    const url = `${endpoint.replace(/\/+$/, '')}/${event.type}/${event.id}`
    return send({ ...about, method: 'PUT', url, body }, signal)
  }
}
