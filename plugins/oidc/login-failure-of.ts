/**
 * What an error of openid-client means for a login. Its errors carry answers, claims and tokens as causes, so only its
 * own fixed messages and the error codes of OAuth become the reason.
 */
import { LoginFailure } from './login-failure.ts'

/** Classes whose messages are fixed sentences of the library. */
const FIXED = new Set([
  'ClientError',
  'OperationProcessingError',
  'UnsupportedOperationError',
  'AuthorizationResponseError',
  'ResponseBodyError',
  'WWWAuthenticateChallengeError',
])
const OAUTH_CODE = /^[a-z_]{1,64}$/
/** The answer has a status or a media type that the endpoint never gives. */
const NOT_CONFORM = new Set(['OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON'])

const chainOf = (error: unknown): readonly Error[] => {
  const chain: Error[] = []
  for (let at = error; at instanceof Error && chain.length < 8; at = at.cause) chain.push(at)
  return chain
}

const isUnavailable = ({ name, code, error }: { name: string; code?: unknown; error?: unknown }): boolean => {
  // RFC 6749, section 4.1.2.1: the provider itself says that it cannot answer now.
  if (name === 'AuthorizationResponseError') return error === 'temporarily_unavailable' || error === 'server_error'
  // Section 5.2: but for a bad code, the token endpoint refuses this server and not the person.
  if (name === 'ResponseBodyError') return error !== 'invalid_grant'
  return name === 'WWWAuthenticateChallengeError' || NOT_CONFORM.has(String(code))
}

/** What the provider, or whoever made up its answer, is to blame for: a refusal, unless it says that it cannot answer. */
export const loginFailureOf = (error: unknown): LoginFailure => {
  const chain = chainOf(error)
  const own = chain.find((one) => one instanceof LoginFailure)
  if (own !== undefined) return own
  const reasons = chain.map((one) => {
    if (!FIXED.has(one.name)) return one.name
    const { error: code } = one as { error?: unknown }
    return typeof code === 'string' && OAUTH_CODE.test(code) ? `${one.message} (${code})` : one.message
  })
  return new LoginFailure(chain.some(isUnavailable) ? 'unavailable' : 'refused', reasons.join(': ') || 'unknown error')
}
