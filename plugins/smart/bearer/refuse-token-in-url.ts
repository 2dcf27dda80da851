/**
 * RFC 6750, section 2.3, lets a client send its access token in the URL. This server refuses that, because logs and
 * browser histories store URLs.
 */
import type { RequestContext } from '../../../kernel/index.ts'
import { TokenInUrl } from '../errors.ts'

const PLAIN = /[?&]access_token=/i

/**
 * Throws `TokenInUrl` when the query has `access_token`. Percent-encoded names count too, because searches decode
 * names.
 */
export const refuseTokenInUrl = ({ url }: RequestContext): undefined => {
  const at = url.indexOf('?')
  if (at === -1) return undefined
  const isThere =
    PLAIN.test(url) || (url.includes('%', at) && new URLSearchParams(url.slice(at + 1)).has('access_token'))
  if (isThere) throw TokenInUrl().with({ headers: { 'www-authenticate': 'Bearer error="invalid_request"' } })
  return undefined
}
