/** The URLs of the authorization server. The issuer must not depend on the header Host, which a client chooses. */
import type { RequestContext } from '../../kernel/index.ts'
import { IssuerUnknown } from './errors.ts'

/**
 * `[server] public_url`, else the address at which the kernel listens, without a slash at the end. Throws
 * `IssuerUnknown`.
 */
export const issuerOf = ({ ownUrl }: RequestContext): string => {
  if (ownUrl === undefined) throw IssuerUnknown()
  return ownUrl
}

export const PATHS = {
  authorize: '/oauth/authorize',
  /** The id of the pending request follows, and the step: `/oauth/interaction/ID/login`. */
  interaction: '/oauth/interaction',
  /** Where the OpenID provider sends the browser back. */
  callback: '/oauth/callback',
  logout: '/oauth/logout',
  launch: '/oauth/launch',
  token: '/oauth/token',
  introspect: '/oauth/introspect',
  revoke: '/oauth/revoke',
  register: '/oauth/register',
  jwks: '/oauth/jwks',
} as const

export const tokenUrlOf = (request: RequestContext): string => `${issuerOf(request)}${PATHS.token}`
