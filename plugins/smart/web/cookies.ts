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

/** Names and values in the order of the request: browsers send older cookies of a path first. RFC 6265, section 5.4 */
const pairsOf = ({ headers: { cookie = '' } }: RequestContext): readonly (readonly [name: string, value: string])[] =>
  cookie.split(';').flatMap((pair) => {
    const at = pair.indexOf('=')
    return at === -1 ? [] : [[pair.slice(0, at).trim(), pair.slice(at + 1).trim()] as const]
  })

/** Every value of a cookie: several when another site or path has set one of the same name. */
export const readCookies = (request: RequestContext, name: string): readonly string[] => {
  const wanted = nameOf(request, name)
  return pairsOf(request).flatMap(([one, value]) => (one === wanted ? [value] : []))
}

/** The value of a cookie; undefined when it is missing, or sent more than once. */
export const readCookie = (request: RequestContext, name: string): string | undefined => {
  const values = readCookies(request, name)
  return values.length === 1 ? values[0] : undefined
}

/** The names of the request's cookies that begin so and end with a hexadecimal number, older ones first. */
export const namesOfCookies = (request: RequestContext, start: string): readonly string[] => {
  const prefix = nameOf(request, start)
  const names = pairsOf(request).flatMap(([name]) =>
    name.startsWith(prefix) && /^[0-9a-f]{1,64}$/.test(name.slice(prefix.length))
      ? [`${start}${name.slice(prefix.length)}`]
      : [],
  )
  return [...new Set(names)]
}

/** A value for Set-Cookie. Without `seconds` the browser drops the cookie when it ends. */
export const cookieOf = (request: RequestContext, name: string, value: string, seconds?: number): string => {
  const age = seconds === undefined ? '' : `; Max-Age=${seconds}`
  return `${nameOf(request, name)}=${value}; ${attributesOf(request)}; HttpOnly; SameSite=Lax${age}`
}

/** A value for Set-Cookie that removes the cookie. */
export const noCookie = (request: RequestContext, name: string): string => cookieOf(request, name, '', 0)
