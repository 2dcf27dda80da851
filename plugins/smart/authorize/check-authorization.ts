/**
 * Checks an authorization request once client and redirect URI are known to belong together, so that errors can be
 * redirected. RFC 6749, section 4.1.1; RFC 7636; SMART App Launch, "App launch"; OpenID Connect Core, section 3.1.2.1
 */
import type { RequestContext } from '../../../kernel/index.ts'
import type { Client } from '../clients/client.ts'
import type { Form } from '../endpoints/form.ts'
import { issuerOf } from '../issuer.ts'
import {
  InvalidRequest,
  InvalidScope,
  LoginRequired,
  RegistrationNotSupported,
  RequestNotSupported,
  RequestUriNotSupported,
  UnsupportedResponseType,
} from '../oauth-errors.ts'
import { grantScopes } from '../scopes/grant-scopes.ts'
import type { InstalledScopes } from '../scopes/installed-scopes.ts'

const MAX_STATE = 8_192 // characters
const MAX_NONCE = 1_024
const MAX_SCOPE = 8_000 // as of a registration
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/ // SHA-256 in base64url
/** RFC 6749, section 3.3 */
const SCOPE_CHARACTERS = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/
/** Neither `state` nor `nonce` may hold them: RFC 6749, appendix A.5. */
const CONTROL = /\p{Cc}/u
const PROMPTS = new Set(['none', 'login', 'consent', 'select_account'])

export interface CheckedAuthorization {
  readonly state: string
  readonly challenge: string
  readonly scope: string
  readonly nonce?: string
  readonly maxAge?: number
  /** The value of an EHR launch, where the scope `launch` is granted. */
  readonly launch?: string
  readonly prompts: ReadonlySet<string>
}

const checkResponse = (form: Form): void => {
  const type = form.get('response_type')
  if (type === undefined) throw InvalidRequest('response_type is missing')
  if (type !== 'code') throw UnsupportedResponseType()
  if ((form.get('response_mode') ?? 'query') !== 'query') throw InvalidRequest('response_mode takes query')
  if (form.has('request')) throw RequestNotSupported()
  if (form.has('request_uri')) throw RequestUriNotSupported()
  if (form.has('registration')) throw RegistrationNotSupported()
}

/** True for a `state` that this server stores and returns. */
export const isReturnable = (state: string): boolean =>
  state !== '' && state.length <= MAX_STATE && !CONTROL.test(state)

const stateOf = (form: Form): string => {
  const state = form.get('state') ?? ''
  if (!isReturnable(state)) throw InvalidRequest('state is missing, too long, or holds control characters')
  return state
}

/** Only an ID token has it. */
const nonceOf = (form: Form, scopes: readonly string[]): string | undefined => {
  const nonce = scopes.includes('openid') ? form.get('nonce') : undefined
  if (nonce !== undefined && (nonce.length > MAX_NONCE || CONTROL.test(nonce)))
    throw InvalidRequest('nonce is too long, or holds control characters')
  return nonce
}

const challengeOf = (form: Form): string => {
  const challenge = form.get('code_challenge') ?? ''
  if (form.get('code_challenge_method') !== 'S256') throw InvalidRequest('code_challenge_method is not S256')
  if (!CHALLENGE.test(challenge)) throw InvalidRequest('code_challenge is not a SHA-256 in base64url')
  return challenge
}

const withoutSlash = (url: string): string => url.replace(/\/$/, '')

/** `resource` of RFC 8707 is a synonym of `aud`. */
const checkAudience = (form: Form, issuer: string): void => {
  const given = [form.get('aud'), form.get('resource')].filter((one) => one !== undefined)
  if (given.length === 0) throw InvalidRequest('aud is missing')
  if (given.some((one) => withoutSlash(one) !== withoutSlash(issuer)))
    throw InvalidRequest('aud is not the URL of this server')
}

const promptsOf = (form: Form): ReadonlySet<string> => {
  const prompts = new Set(
    form
      .get('prompt')
      ?.split(' ')
      .filter((one) => one !== '') ?? [],
  )
  if ([...prompts].some((one) => !PROMPTS.has(one)) || (prompts.has('none') && prompts.size > 1))
    throw InvalidRequest('prompt holds an unknown value, or none beside others')
  return prompts
}

const maxAgeOf = (form: Form): number | undefined => {
  const text = form.get('max_age')
  if (text === undefined) return undefined
  if (!/^\d{1,9}$/.test(text)) throw InvalidRequest('max_age is not a number of seconds')
  return Number(text)
}

/** What grants a refresh token needs a client that can use one. */
const withoutUnusable = (scope: string, { metadata }: Client): string =>
  metadata.grant_types.includes('refresh_token')
    ? scope
    : scope
        .split(' ')
        .filter((one) => one !== 'offline_access' && one !== 'online_access')
        .join(' ')

/** Throws an OAuth error, which is redirected to the client. */
export const checkAuthorization = async (
  request: RequestContext,
  client: Client,
  form: Form,
  installedScopes: InstalledScopes,
): Promise<CheckedAuthorization> => {
  checkResponse(form)
  const state = stateOf(form)
  const challenge = challengeOf(form)
  checkAudience(form, issuerOf(request))
  const requested = form.get('scope') ?? ''
  if (requested.length > MAX_SCOPE) throw InvalidRequest('scope is too long')
  if (!SCOPE_CHARACTERS.test(requested)) throw InvalidScope()
  const asked = grantScopes(requested, client.metadata.scope, 'user')
  const scope = withoutUnusable(await installedScopes(asked), client)
  if (scope === '') throw InvalidScope()
  const scopes = scope.split(' ')
  const nonce = nonceOf(form, scopes)
  const prompts = promptsOf(form)
  const maxAge = maxAgeOf(form)
  const launch = form.get('launch')
  if (scopes.includes('launch') && launch === undefined) throw InvalidRequest('launch is missing')
  if (prompts.has('none') && maxAge === 0) throw LoginRequired()
  return {
    ...{ state, challenge, scope, prompts },
    ...(nonce !== undefined && { nonce }),
    ...(maxAge !== undefined && { maxAge }),
    ...(launch !== undefined && scopes.includes('launch') && { launch }),
  }
}
