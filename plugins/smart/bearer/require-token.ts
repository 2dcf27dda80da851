/** Refuses requests without an access token, except on routes that clients use before they have one. */
import type { Refusal, RequestContext } from '../../../kernel/index.ts'
import { TokenMissing } from '../errors.ts'

/** RFC 6750, section 3: the challenge to a request without a token has no error code. */
export const CHALLENGE = 'Bearer'

/** They describe the server, for callers with a token and without. */
export const isDescription = (route: string | undefined): boolean => route === '/metadata' || route === '/openapi.json'

/** `route` is the pattern that its plugin declared. It is undefined at an unknown address, which needs a token too. */
export const isOpenRoute = (route: string | undefined): boolean =>
  route !== undefined && (isDescription(route) || route.startsWith('/oauth/') || route.startsWith('/.well-known/'))

/** 401 for an anonymous caller on a route that needs a token with the request, else undefined. */
export const requireToken = (request: RequestContext): Refusal | undefined =>
  request.caller.kind === 'anonymous' && !isOpenRoute(request.route) && !request.awaitToken()
    ? TokenMissing().with({ headers: { 'www-authenticate': CHALLENGE } })
    : undefined
