/** The package oidc-provider with settings as near to SMART App Launch as they go. */
import { startReferenceProvider } from '../support/reference-provider.ts'
import { FORM, signingKey } from '../support/smart-server.ts'
import { type Client, paramsOf, type Target } from './target.ts'

const PATHS = {
  authorize: '/auth',
  token: '/token',
  introspect: '/token/introspection',
  revoke: '/token/revocation',
  register: '/reg',
  jwks: '/jwks',
  discovery: '/.well-known/openid-configuration',
} as const
const DCR_TOKEN = 'initial-access-token-of-the-reference-1'
const REDIRECT = 'https://app.example.org/callback'
const CODE = { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] as ['code'] }

export const startReference = async (): Promise<Target> => {
  const key = await signingKey()
  const app: Client = { id: 'app', redirectUri: REDIRECT }
  const native: Client = { id: 'native', redirectUri: 'http://127.0.0.1/cb' }
  const secret: Client = { id: 'secret', secret: 'secret of the client secret 00000001', redirectUri: REDIRECT }
  const other: Client = { id: 'other', secret: 'secret of the client other 0000000002', redirectUri: REDIRECT }
  const publicClient = { token_endpoint_auth_method: 'none' as const, ...CODE }
  const withSecret = ({ id, secret: own = '' }: Client) => ({
    ...{ client_id: id, client_secret: own, redirect_uris: [REDIRECT], ...CODE },
  })
  const provider = await startReferenceProvider(
    [
      { client_id: app.id, redirect_uris: [REDIRECT], ...publicClient },
      { client_id: native.id, application_type: 'native', redirect_uris: [native.redirectUri], ...publicClient },
      withSecret(secret),
      withSecret(other),
      {
        ...{ client_id: 'service', redirect_uris: [], response_types: [], grant_types: ['client_credentials'] },
        ...{ token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'ES384' },
        ...{ scope: 'system/*.cruds system/*.rs', jwks: { keys: [{ ...key.jwk, kty: 'EC' }] } },
      },
    ],
    {},
    {
      scopes: ['openid', 'offline_access', 'launch/patient', 'patient/*.rs', 'system/*.cruds', 'system/*.rs'],
      responseTypes: ['code'],
      allowOmittingSingleRegisteredRedirectUri: false,
      enableHttpPostMethods: true,
      ttl: { ClientCredentials: 300 },
      pkce: { required: () => true },
      rotateRefreshToken: true,
      issueRefreshToken: async () => true,
      enabledJWA: { clientAuthSigningAlgValues: ['ES384', 'RS384'] },
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        introspection: { enabled: true },
        revocation: { enabled: true },
        registration: { enabled: true, initialAccessToken: DCR_TOKEN },
      },
    },
  )
  const { issuer } = provider
  return {
    ...{ name: 'reference', issuer, tokenUrl: `${issuer}${PATHS.token}`, dcrToken: DCR_TOKEN },
    clients: { app, native, secret, other, service: { id: 'service', key } },
    async send(endpoint, { method, query, form, body, headers }) {
      const payload = body ?? (form === undefined ? undefined : paramsOf(form).toString())
      const url = `${issuer}${PATHS[endpoint]}${query === undefined ? '' : `?${paramsOf(query).toString()}`}`
      const answer = await fetch(url, {
        method: method ?? (payload === undefined ? 'GET' : 'POST'),
        redirect: 'manual',
        headers: { ...(form !== undefined && { 'content-type': FORM }), ...headers },
        ...(payload !== undefined && { body: payload }),
      })
      return { status: answer.status, headers: Object.fromEntries(answer.headers), body: await answer.text() }
    },
    visit: (query) => provider.visit(`${issuer}${PATHS.authorize}?${paramsOf(query).toString()}`),
    stop: () => provider.stop(),
  }
}
