/**
 * Checks the metadata that a client registers, and selects what is stored. Unknown members are dropped. RFC 7591,
 * section 2; SMART App Launch.
 */
import { InvalidClientMetadata, InvalidRedirectUri } from '../oauth-errors.ts'
import { parseScope } from '../scopes/parse-scope.ts'
import type { AssertionAlg, AuthMethod, ClientMetadata } from './client.ts'
import { ASSERTION_ALGS, jwksFault } from './public-jwk.ts'
import { isWebUrl, jwksUriFault, redirectUriFault } from './uri-rules.ts'

const AUTH_METHODS: readonly AuthMethod[] = ['none', 'client_secret_basic', 'private_key_jwt']
const GRANT_TYPES = ['authorization_code', 'refresh_token', 'client_credentials']
const APPLICATION_TYPES = ['web', 'native'] as const
const LINKS = ['client_uri', 'logo_uri', 'tos_uri', 'policy_uri'] as const
const TEXTS = ['client_name', 'software_id', 'software_version'] as const
const MAX_TEXT = 200 // characters
const MAX_ITEMS = 20 // of a list
const MAX_SCOPE = 8_000 // characters

type Given = Readonly<Record<string, unknown>>

const refuse = (why: string): never => {
  throw InvalidClientMetadata(why)
}

const isOneOf = <T extends string>(value: unknown, words: readonly T[]): value is T =>
  typeof value === 'string' && (words as readonly string[]).includes(value)

const textOf = (given: Given, name: string, most = MAX_TEXT): string | undefined => {
  const value = given[name]
  if (value === undefined) return undefined
  if (typeof value !== 'string' || value === '' || value.length > most || /\p{C}/u.test(value))
    return refuse(`${name} is not a text of 1 to ${most} characters without control characters`)
  return value
}

const listOf = (given: Given, name: string): readonly string[] | undefined => {
  const value = given[name]
  if (value === undefined) return undefined
  if (!Array.isArray(value) || value.length > MAX_ITEMS || !value.every((one) => typeof one === 'string'))
    return refuse(`${name} is not a list of at most ${MAX_ITEMS} texts`)
  return [...new Set(value as string[])]
}

const wordOf = <T extends string>(given: Given, name: string, words: readonly T[]): T | undefined => {
  const value = given[name]
  if (value === undefined || isOneOf(value, words)) return value
  return refuse(`${name} takes ${words.join(', ')}`)
}

const wordsOf = (given: Given, name: string, words: readonly string[]): readonly string[] | undefined => {
  const list = listOf(given, name)
  if (list !== undefined && (list.length === 0 || !list.every((one) => words.includes(one))))
    return refuse(`${name} takes ${words.join(', ')}`)
  return list
}

/** The list of scopes without duplicates. Refuses text that is not a scope of this server. */
const scopeOf = (given: Given): string | undefined => {
  const value = given.scope
  if (value === undefined) return undefined
  if (typeof value !== 'string' || value.length > MAX_SCOPE) return refuse('scope is not a text, or too long')
  const scopes = [...new Set(value.split(' '))].filter((one) => one !== '')
  if (scopes.length === 0 || scopes.some((one) => parseScope(one) === undefined))
    return refuse('scope holds what is no scope of this server')
  return scopes.join(' ')
}

const redirectUrisOf = (given: Given, grants: readonly string[], isNative: boolean): readonly string[] | undefined => {
  const value = given.redirect_uris
  const needs = grants.includes('authorization_code')
  if (value === undefined && !needs) return undefined
  if (!Array.isArray(value) || value.length > MAX_ITEMS || (needs && value.length === 0))
    throw InvalidRedirectUri(`redirect_uris is a list of 1 to ${MAX_ITEMS} for authorization_code`)
  for (const uri of value as unknown[]) {
    const fault = typeof uri === 'string' ? redirectUriFault(uri, isNative) : 'it is not a text'
    if (fault !== undefined) throw InvalidRedirectUri(fault)
  }
  return [...new Set(value as string[])]
}

const keysOf = (given: Given, method: AuthMethod, insideHosts: ReadonlySet<string>): Partial<ClientMetadata> => {
  const { jwks, jwks_uri: uri } = given
  if (jwks !== undefined && uri !== undefined) return refuse('jwks and jwks_uri are given together')
  if (method === 'private_key_jwt' && jwks === undefined && uri === undefined)
    return refuse('private_key_jwt needs jwks or jwks_uri')
  if (uri !== undefined) {
    const fault = typeof uri === 'string' ? jwksUriFault(uri, insideHosts) : 'jwks_uri is not a text'
    return fault === undefined ? { jwks_uri: uri as string } : refuse(fault)
  }
  if (jwks === undefined) return {}
  const fault = jwksFault(jwks)
  return fault === undefined ? { jwks: jwks as NonNullable<ClientMetadata['jwks']> } : refuse(fault)
}

const checkGrants = (grants: readonly string[], responses: readonly string[], method: AuthMethod): void => {
  if (grants.includes('authorization_code') !== responses.includes('code'))
    refuse('response_types and grant_types do not go together')
  if (grants.includes('refresh_token') && !grants.includes('authorization_code'))
    refuse('refresh_token needs authorization_code')
  if (grants.includes('client_credentials') && method !== 'private_key_jwt')
    refuse('client_credentials needs private_key_jwt')
}

const defined = <T extends object>(members: T): T =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T

/** Throws `InvalidRedirectUri` and `InvalidClientMetadata`. */
export const readClientMetadata = (value: unknown, insideHosts: ReadonlySet<string>): ClientMetadata => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse('it is not an object')
  const given = value as Given
  const method = wordOf(given, 'token_endpoint_auth_method', AUTH_METHODS) ?? 'client_secret_basic'
  const grants = wordsOf(given, 'grant_types', GRANT_TYPES) ?? ['authorization_code']
  const usual = grants.includes('authorization_code') ? ['code'] : []
  const responses = given.response_types === undefined ? usual : (listOf(given, 'response_types') ?? [])
  if (responses.some((one) => one !== 'code')) refuse('response_types takes code')
  checkGrants(grants, responses, method)
  const type = wordOf(given, 'application_type', APPLICATION_TYPES)
  const links = Object.fromEntries(LINKS.map((name) => [name, textOf(given, name, 2048)]))
  for (const [name, link] of Object.entries(links))
    if (link !== undefined && !isWebUrl(link)) refuse(`${name} is not an http or https URL`)
  const contacts = listOf(given, 'contacts')
  if (contacts?.some((one) => one.length > MAX_TEXT || /\p{C}/u.test(one))) refuse('contacts holds what is no contact')
  const alg = wordOf<AssertionAlg>(given, 'token_endpoint_auth_signing_alg', ASSERTION_ALGS)
  return defined({
    ...(Object.fromEntries(TEXTS.map((name) => [name, textOf(given, name)])) as Partial<ClientMetadata>),
    ...(type !== undefined && { application_type: type }),
    redirect_uris: redirectUrisOf(given, grants, type === 'native'),
    grant_types: grants,
    response_types: responses,
    token_endpoint_auth_method: method,
    ...(alg !== undefined && { token_endpoint_auth_signing_alg: alg }),
    scope: scopeOf(given),
    ...keysOf(given, method, insideHosts),
    ...links,
    contacts,
  }) as ClientMetadata
}
