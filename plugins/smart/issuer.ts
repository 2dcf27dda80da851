/** The URLs of the authorization server. They never come from a request: what a client sends as Host must not name the issuer. */
import type { RequestContext } from '../../kernel/index.ts'
import { IssuerUnknown } from './errors.ts'

/** `[server] public_url`, else the address that the kernel listens at, without a slash at the end. Throws `IssuerUnknown`. */
export const issuerOf = ({ ownUrl }: RequestContext): string => {
  if (ownUrl === undefined) throw IssuerUnknown()
  return ownUrl
}

export const PATHS = {
  token: '/oauth/token',
  introspect: '/oauth/introspect',
  revoke: '/oauth/revoke',
  register: '/oauth/register',
  jwks: '/oauth/jwks',
} as const

export const tokenUrlOf = (request: RequestContext): string => `${issuerOf(request)}${PATHS.token}`
