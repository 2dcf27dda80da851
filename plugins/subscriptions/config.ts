/** Settings of the section [subscriptions]. */
import { Type } from '../../kernel/index.ts'

/** A host name or address, IPv6 in brackets, and a port where it is not the usual one. */
const HOST = '^([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\\[[0-9a-f:.]+\\])(:[1-9][0-9]{0,4})?$'

export const subscriptionsSection = Type.Object({
  rest_hook_hosts: Type.Array(
    Type.String({ pattern: HOST, allowed: 'a host in lower case, with a port where it is not the usual one' }),
    {
      default: [],
      sample: ['hooks.example.org', 'hooks.example.org:8443'],
      description:
        'Hosts that rest-hook Subscriptions may notify. A host with a private address needs that address in the list as well. Empty, rest-hooks are refused.',
    },
  ),
  rest_hook_http: Type.Boolean({
    default: false,
    description: 'Rest-hooks may use http. On this machine (127.0.0.1, ::1, localhost) they may anyway.',
  }),
  websocket: Type.Boolean({
    default: false,
    description: 'Subscriptions may use the channel websocket, at /subscription-events.',
  }),
  retry_minutes: Type.Integer({
    default: 60,
    minimum: 1,
    maximum: 10_080,
    description:
      'Minutes for which the notifications of an endpoint that fails are repeated, before the Subscription gets the status error.',
  }),
})
