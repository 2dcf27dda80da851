/** The authorization code flow at the provider: OpenID Connect Core 1.0, section 3.1, with PKCE, RFC 7636. */
import type { Configuration, ServerMetadata } from 'openid-client'
import type { Clock, Logger } from '../../kernel/index.ts'
import { checkIdToken, TOLERANCE_S } from './check-id-token.ts'
import type { CheckedSettings } from './checked-settings.ts'
import { type Claims, claimOf, hasClaim, type PersonClaims } from './claims.ts'
import type { Discovery } from './discovery.ts'
import { LoginRefused, ProviderUnavailable } from './errors.ts'
import { type FhirUserParts, fhirUserOf } from './fhir-user.ts'
import { isLoopbackHttp } from './is-loopback-http.ts'
import { LoginFailure } from './login-failure.ts'
import { loginFailureOf } from './login-failure-of.ts'
import { newLogin, recall } from './login-memory.ts'
import { createProviderFetch } from './provider-fetch.ts'
import type { Person, ProviderLogin } from './service.ts'
import { whyNotAllowed } from './why-not-allowed.ts'
import { within } from './within.ts'

const TIMEOUT_MS = 5_000 // for all requests of `start`, and of `finish`
const MAX_NAME = 200 // characters

export interface ProviderLoginParts extends FhirUserParts {
  readonly settings: CheckedSettings
  readonly discovery: Discovery
  readonly clock: Clock
  readonly log: Logger
}

type Client = typeof import('openid-client')

/** HTTP Basic, unless the provider only lists the form. OpenID Connect Discovery 1.0, section 3. */
const authenticationOf = (
  client: Client,
  { token_endpoint_auth_methods_supported: methods }: ServerMetadata,
  secret: string | undefined,
) => {
  if (secret === undefined) return client.None()
  return methods === undefined || methods.includes('client_secret_basic') || !methods.includes('client_secret_post')
    ? client.ClientSecretBasic(secret)
    : client.ClientSecretPost(secret)
}

/** Names of the claims that the settings ask for. */
const wantedClaims = ({ fhirUserClaim, lookup, allowedClaims, allowedEmailDomains }: CheckedSettings): string[] => [
  fhirUserClaim,
  ...(lookup === undefined ? [] : [lookup.claim]),
  ...allowedClaims.keys(),
  ...(allowedEmailDomains.size === 0 ? [] : ['email', 'email_verified']),
]

const nameOf = (person: PersonClaims): string | undefined =>
  ['name', 'preferred_username', 'email']
    .map((name) => claimOf(person, name))
    .find((value): value is string => typeof value === 'string' && value.trim() !== '')
    ?.slice(0, MAX_NAME)

export const createProviderLogin = (parts: ProviderLoginParts): ProviderLogin => {
  const { settings, discovery, clock, log } = parts
  const { issuer, clientId, clientSecret, scopes } = settings
  const allowHttp = isLoopbackHttp(new URL(issuer))
  const wanted = wantedClaims(settings)
  const seconds = (): number => Math.floor(clock.now() / 1000)

  /** Made for each login, so that keys are fetched anew: a cache would refuse people after a rotation. */
  const configure = (client: Client, metadata: ServerMetadata, signal: AbortSignal): Configuration => {
    const own = {
      // The library reads the system's clock.
      [client.clockSkew]: Math.round((clock.now() - Date.now()) / 1000),
      [client.clockTolerance]: TOLERANCE_S,
    }
    const config = new client.Configuration(metadata, clientId, own, authenticationOf(client, metadata, clientSecret))
    config[client.customFetch] = createProviderFetch(allowHttp, signal)
    if (allowHttp) client.allowInsecureRequests(config)
    // Without this the library trusts TLS, and does not verify the signature of ID tokens.
    client.enableNonRepudiationChecks(config)
    return config
  }

  const open = async () => {
    const signal = clock.deadline(TIMEOUT_MS)
    const client = await import('openid-client')
    const metadata = await within(signal, discovery.metadata())
    return { client, metadata, config: configure(client, metadata, signal) }
  }

  const exchange = async (url: string, callback: string, memory: string) => {
    const current = new URL(callback)
    current.search = new URL(url, callback).search
    const { state, nonce, verifier, forcedAt } = recall(memory, current.searchParams)
    const { client, metadata, config } = await open()
    const tokens = await client.authorizationCodeGrant(config, current, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    if (claims === undefined) throw new LoginFailure('refused', 'there is no ID token')
    const authTime = checkIdToken(claims, { clientId, now: seconds(), forcedAt })
    const sources: Claims[] = [claims]
    if (metadata.userinfo_endpoint !== undefined && wanted.some((name) => !hasClaim(claims, name)))
      sources.push(await client.fetchUserInfo(config, tokens.access_token, claims.sub))
    return { subject: claims.sub, authTime, person: { sources } }
  }

  const finish = async (url: string, callback: string, memory: string): Promise<Person> => {
    const { subject, authTime, person } = await exchange(url, callback, memory).catch((error) => {
      throw loginFailureOf(error)
    })
    const why = whyNotAllowed(person, settings)
    if (why !== undefined) throw new LoginFailure('refused', why)
    const fhirUser = await fhirUserOf(parts, settings, person)
    const name = nameOf(person)
    return {
      ...{ issuer, subject, authTime },
      ...(name !== undefined && { name }),
      ...(fhirUser !== undefined && { fhirUser }),
    }
  }

  /** Logs why a login cannot go on, and throws the error that the authorization server receives. */
  const refuse = (error: unknown): never => {
    if (!(error instanceof LoginFailure)) throw error
    if (error.kind === 'refused') {
      log.warn({ reason: error.message }, 'a login at the OpenID provider was refused')
      throw LoginRefused()
    }
    log.warn({ reason: error.message }, 'the OpenID provider cannot be used now')
    throw ProviderUnavailable()
  }

  return {
    label: new URL(issuer).host,
    issuer,
    patientFromFhirUser: settings.patientFromFhirUser,
    async start({ callback, forceLogin, request }) {
      const { client, config } = await open().catch(refuse)
      const { state, nonce, challenge, memory } = newLogin(request, forceLogin ? seconds() : undefined)
      const redirect = client.buildAuthorizationUrl(config, {
        redirect_uri: new URL(callback).href,
        scope: scopes.join(' '),
        ...{ state, nonce, code_challenge: challenge, code_challenge_method: 'S256' },
        ...(forceLogin && { prompt: 'login', max_age: '0' }),
      })
      return { redirect: redirect.href, memory }
    },
    finish: ({ url, callback, memory }) => finish(url, callback, memory).catch(refuse),
  }
}
