/** Errors of requests that pass through two servers. */
import { defineError } from '../../../kernel/index.ts'

export const PrimaryAway = defineError(
  'cluster/primary-away',
  503,
  'transient',
  'This server sends changes on, and the server that makes them cannot be reached; nothing was changed. Try again.',
)
export const PrimaryBusy = defineError(
  'cluster/primary-busy',
  503,
  'throttled',
  'Too many requests wait here for the server that makes changes; nothing was changed. Try again.',
)
export const RelayUnknown = defineError(
  'cluster/relay-unknown',
  503,
  'transient',
  'The request was sent on to the server that makes changes, and no whole answer came back: it may have been carried out. Look before you try again.',
)
export const RelayLoop = defineError(
  'cluster/relay-loop',
  503,
  'transient',
  'Another server sent this request on to make a change, and this one makes none; nothing was changed. Check primary_url.',
)
export const ConnectionNames = defineError(
  'cluster/connection-names',
  400,
  'value',
  'The header Connection names %s, which does not concern one connection; leave it out there. This server sends the request on, and would have to remove it.',
)
export const RelayForged = defineError(
  'cluster/relay-forged',
  400,
  'security',
  'The header X-Relay was not made by a server of this cluster for this request; clients leave it out.',
)
export const RelayExpired = defineError(
  'cluster/relay-expired',
  400,
  'security',
  'The header X-Relay was made more than %s {second|seconds} ago or ahead, by the clock of this server. Compare the clocks of the servers.',
)
