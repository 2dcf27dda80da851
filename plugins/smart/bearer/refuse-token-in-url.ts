/** RFC 6750, section 2.3, is not offered: URLs are kept in logs and histories. */
import type { RequestContext } from '../../../kernel/index.ts'
import { TokenInUrl } from '../errors.ts'

const PLAIN = /[?&]access_token=/i

/** Throws `TokenInUrl`. An encoded name is read as searches read it. */
export const refuseTokenInUrl = ({ url }: RequestContext): undefined => {
  const at = url.indexOf('?')
  if (at === -1) return undefined
  const isThere =
    PLAIN.test(url) || (url.includes('%', at) && new URLSearchParams(url.slice(at + 1)).has('access_token'))
  if (isThere) throw TokenInUrl().with({ headers: { 'www-authenticate': 'Bearer error="invalid_request"' } })
  return undefined
}
