/** Errors of Subscriptions. https://hl7.org/fhir/R4/subscription.html */
import { defineError } from '../../kernel/index.ts'

export const SubscriptionsOff = defineError(
  'subscriptions/off',
  422,
  'not-supported',
  'This server runs no Subscriptions, so the status "%s" is refused. Store it with the status off, or ask the operator to set [subscriptions] rest_hook_hosts or websocket.',
)
export const StatusOfServer = defineError(
  'subscriptions/status',
  422,
  'business-rule',
  'The status active is written by the server. Send the status requested to start the Subscription (again), or off to stop it.',
)
export const NotRequestedHere = defineError(
  'subscriptions/not-by-request',
  422,
  'business-rule',
  'A Subscription is requested by a client over HTTP, with whose rights it runs. Import it with the status off.',
)
export const SubscriptionRefused = defineError(
  'subscriptions/refused',
  422,
  'business-rule',
  'The Subscription is refused: %s.',
)
export const ChannelUnsupported = defineError(
  'subscriptions/channel',
  422,
  'not-supported',
  'The channel "%s" is not supported here. %s',
)
export const CriteriaRefused = defineError(
  'subscriptions/criteria',
  422,
  'value',
  'The criteria cannot be used: %s Write one type with search parameters, such as Observation?patient=Patient/1.',
)
export const CriteriaForbidden = defineError(
  'subscriptions/type-forbidden',
  403,
  'forbidden',
  'You may not read and search %s, so you cannot subscribe to it.',
)
export const TooMany = defineError(
  'subscriptions/too-many',
  422,
  'too-costly',
  'This server runs %s {Subscription|Subscriptions}, the most that it takes; set one to off first.',
)
export const Unchecked = defineError(
  'subscriptions/unchecked',
  500,
  'exception',
  'The Subscription was not checked before it was to be stored.',
)
export const SocketOnReplica = defineError(
  'subscriptions/on-replica',
  503,
  'not-supported',
  'This server is a replica; open the WebSocket at the server that writes.',
)
export const SocketOrigin = defineError(
  'subscriptions/origin',
  403,
  'forbidden',
  'Pages of this origin may not open this WebSocket; the operator can list it in [cors] origins.',
)
export const SocketsFull = defineError(
  'subscriptions/full',
  503,
  'transient',
  'This server has %s WebSockets of Subscriptions, the most that it takes; try again later.',
)
export const QueueUnavailable = defineError(
  'subscriptions/queue',
  503,
  'transient',
  'Nothing was stored, because the queue of notifications could not be written; send it again.',
)
