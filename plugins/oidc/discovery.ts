/** Where the endpoints of the provider are: OpenID Connect Discovery 1.0, section 4, kept for an hour. */
import type { ServerMetadata } from 'openid-client'
import type { Clock } from '../../kernel/index.ts'
import type { CheckedSettings } from './checked-settings.ts'
import { isLoopbackHttp } from './is-loopback-http.ts'
import { LoginFailure } from './login-failure.ts'
import { loginFailureOf } from './login-failure-of.ts'
import { createProviderFetch } from './provider-fetch.ts'

const FRESH_MS = 3_600_000
const TIMEOUT_MS = 5_000

const NEEDED = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const

export interface Discovery {
  /** The metadata of the provider. Concurrent calls share one request. Rejects with a `LoginFailure`. */
  metadata(): Promise<ServerMetadata>
}

const isUsable = (endpoint: unknown, allowHttp: boolean): boolean => {
  const url = typeof endpoint === 'string' ? URL.parse(endpoint) : null
  return url !== null && (url.protocol === 'https:' || (allowHttp && isLoopbackHttp(url)))
}

/** Throws for another issuer, even in spelling: an ID token is compared with the spelling of the metadata. */
const check = (metadata: ServerMetadata, issuer: string, allowHttp: boolean): void => {
  if (metadata.issuer !== issuer)
    throw new LoginFailure('unavailable', 'the provider spells its issuer in another way than [smart.oidc] issuer')
  for (const name of NEEDED)
    if (!isUsable(metadata[name], allowHttp))
      throw new LoginFailure('unavailable', `the provider has no ${name} with an https URL`)
  if (metadata.userinfo_endpoint !== undefined && !isUsable(metadata.userinfo_endpoint, allowHttp))
    throw new LoginFailure('unavailable', 'the provider has a userinfo_endpoint that is not an https URL')
}

/** `stopped` ends a request in progress. */
export const createDiscovery = (
  { issuer, clientId }: Pick<CheckedSettings, 'issuer' | 'clientId'>,
  clock: Clock,
  stopped: AbortSignal,
): Discovery => {
  const url = new URL(issuer)
  const allowHttp = isLoopbackHttp(url)
  let known: ServerMetadata | undefined
  let freshUntil = Number.NEGATIVE_INFINITY
  let asking: Promise<ServerMetadata> | undefined

  const ask = async (): Promise<ServerMetadata> => {
    // Imported at the first use: a server without a provider does not load it.
    const { allowInsecureRequests, customFetch, discovery } = await import('openid-client')
    const askedAt = clock.monotonic()
    const signal = AbortSignal.any([clock.deadline(TIMEOUT_MS), stopped])
    try {
      const found = await discovery(url, clientId, undefined, undefined, {
        [customFetch]: createProviderFetch(allowHttp, signal),
        execute: allowHttp ? [allowInsecureRequests] : [],
      })
      const metadata = found.serverMetadata()
      check(metadata, issuer, allowHttp)
      known = metadata
      freshUntil = askedAt + FRESH_MS
      return metadata
    } catch (error) {
      // Whatever is wrong with the metadata, nobody has been refused yet.
      throw new LoginFailure('unavailable', loginFailureOf(error).message)
    }
  }
  return {
    async metadata() {
      if (known !== undefined && clock.monotonic() < freshUntil) return known
      asking ??= ask().finally(() => {
        asking = undefined
      })
      return asking
    },
  }
}
