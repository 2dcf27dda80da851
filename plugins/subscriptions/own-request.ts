/** Requests of this plugin: the server writes the status of Subscriptions itself. */
import type { RequestContext } from '../../kernel/index.ts'

export const PURPOSE = 'subscriptions'

export const isOwnRequest = ({ origin, url, caller }: RequestContext): boolean =>
  origin === 'server' && caller.kind === 'internal' && url === `/-/${PURPOSE}`
