/** The redirects that end an authorization request. RFC 6749, section 4.1.2; RFC 9207 */
import type { RequestContext, ServerError } from '../../../kernel/index.ts'
import { issuerOf } from '../issuer.ts'
import { oauthCodeOf } from '../oauth-errors.ts'

export interface ReturnAddress {
  readonly redirectUri: string
  /** Undefined when the request has none that could be returned. */
  readonly state: string | undefined
}

/** Adds parameters to the query. The registered URI is kept as it is: it has no fragment. */
const withParameters = (uri: string, parameters: Readonly<Record<string, string | undefined>>): string => {
  const added = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  const glue = !uri.includes('?') ? '?' : /[?&]$/.test(uri) ? '' : '&'
  return `${uri}${glue}${added.join('&')}`
}

export const redirectWithCode = (
  request: RequestContext,
  { redirectUri, state }: ReturnAddress,
  code: string,
): string => withParameters(redirectUri, { code, state, iss: issuerOf(request) })

/** Descriptions are those of the table of errors, and never quote the request. */
export const redirectWithError = (
  request: RequestContext,
  { redirectUri, state }: ReturnAddress,
  error: ServerError,
): string =>
  withParameters(redirectUri, {
    error: oauthCodeOf(error),
    error_description: error.message.replaceAll(/[^\x20-\x7e]|["\\]/g, ''),
    state,
    iss: issuerOf(request),
  })
