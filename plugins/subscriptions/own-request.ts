/** Recognises requests of this plugin, with which the server itself writes the status of Subscriptions. */
import type { RequestContext } from '../../kernel/index.ts'

export const PURPOSE = 'subscriptions'

export const isOwnRequest = ({ origin, url, caller }: RequestContext): boolean =>
  origin === 'server' && caller.kind === 'internal' && url === `/-/${PURPOSE}`
