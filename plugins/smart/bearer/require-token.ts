/** Nobody is served without an access token, but by the addresses that clients ask before they have one. */
import type { Refusal, RequestContext } from '../../../kernel/index.ts'
import { TokenMissing } from '../errors.ts'

/** RFC 6750, section 3: who sent no token is told no error. */
export const CHALLENGE = 'Bearer'

/** By the route as its plugin declared it; an address that is no route is none of them. */
export const isOpenRoute = (route: string | undefined): boolean =>
  route !== undefined && (route === '/metadata' || route.startsWith('/oauth/') || route.startsWith('/.well-known/'))

/** The refusal of a caller whom nobody recognised, or undefined. */
export const requireToken = ({ caller, route }: RequestContext): Refusal | undefined =>
  caller.kind === 'anonymous' && !isOpenRoute(route)
    ? TokenMissing().with({ headers: { 'www-authenticate': CHALLENGE } })
    : undefined
