/**
 * The cookies of the login. Where the issuer is https their names begin with `__Host-`, so that no other host can set
 * them; http is for the loopback address only, and there they are bound to the path of the OAuth endpoints. RFC 6265bis
 */
import type { RequestContext } from '../../../kernel/index.ts'
import { issuerOf } from '../issuer.ts'

const NAME = 'smart-'

const nameOf = (request: RequestContext, name: string): string =>
  `${issuerOf(request).startsWith('https:') ? '__Host-' : ''}${NAME}${name}`

const attributesOf = (request: RequestContext): string => {
  const { protocol, pathname } = new URL(issuerOf(request))
  return protocol === 'https:' ? 'Path=/; Secure' : `Path=${pathname.replace(/\/$/, '')}/oauth`
}

/** The value of a cookie; undefined when it is missing, or sent more than once. */
export const readCookie = (request: RequestContext, name: string): string | undefined => {
  const wanted = nameOf(request, name)
  const values = (request.headers.cookie ?? '').split(';').flatMap((pair) => {
    const at = pair.indexOf('=')
    return at !== -1 && pair.slice(0, at).trim() === wanted ? [pair.slice(at + 1).trim()] : []
  })
  return values.length === 1 ? values[0] : undefined
}

/** A value for Set-Cookie. Without `seconds` the browser drops the cookie when it ends. */
export const cookieOf = (request: RequestContext, name: string, value: string, seconds?: number): string => {
  const age = seconds === undefined ? '' : `; Max-Age=${seconds}`
  return `${nameOf(request, name)}=${value}; ${attributesOf(request)}; HttpOnly; SameSite=Lax${age}`
}

/** A value for Set-Cookie that removes the cookie. */
export const noCookie = (request: RequestContext, name: string): string => cookieOf(request, name, '', 0)
