/** The library openid-client as a client: it checks what it is answered more strictly than apps do. */
// database: sqlite, what the library checks does not depend on the database
import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { exportJWK } from 'jose'
import * as client from 'openid-client'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { codeOf, goThrough, loginClinic, REDIRECT } from '../../support/login-clinic.ts'
import type { TestServer } from '../../support/server-with.ts'
import { DCR_TOKEN, ISSUER, TOKEN_URL } from '../../support/smart-server.ts'
import { createTestBrowser } from '../../support/test-browser.ts'

const PUBLIC_JWK = ['kty', 'crv', 'x', 'y'] as const

let server: TestServer
test.before(async () => {
  server = await loginClinic({ smart: { fhir_user: 'Practitioner/doc' } })
})
test.after(async () => server.stop())

/** The network between the client and the server behind its proxy. */
const customFetch: client.CustomFetch = async (url, { method, headers, body }) => {
  const path = url.startsWith(ISSUER) ? url.slice(ISSUER.length) : new URL(url).pathname
  const answer = await server.inject({
    ...{ method: method as 'GET', url: path, headers },
    ...(body !== undefined && body !== null && { payload: String(body) }),
  })
  const shown = new Headers()
  for (const [name, value] of Object.entries(answer.headers)) shown.set(name, String(value))
  return new Response(answer.body === '' ? null : answer.body, { status: answer.statusCode, headers: shown })
}
const options = { [client.customFetch]: customFetch }

const register = async (metadata: Partial<client.ClientMetadata>, auth?: client.ClientAuth) => {
  const config = await client.dynamicClientRegistration(new URL(ISSUER), metadata, auth, {
    ...options,
    initialAccessToken: DCR_TOKEN,
  })
  client.enableNonRepudiationChecks(config)
  return config
}

const APP = {
  client_name: 'Library',
  redirect_uris: [REDIRECT],
  grant_types: ['authorization_code', 'refresh_token'],
}

const SCOPE = 'openid fhirUser launch/patient patient/*.rs offline_access'

/** A person logs in; the library checks state, issuer, PKCE, nonce, time of the login and the signature of the ID token. */
const logIn = async (config: client.Configuration) => {
  const [pkceCodeVerifier, expectedState, expectedNonce] = [
    client.randomPKCECodeVerifier(),
    client.randomState(),
    client.randomNonce(),
  ]
  const url = client.buildAuthorizationUrl(config, {
    ...{ redirect_uri: REDIRECT, scope: SCOPE, state: expectedState, nonce: expectedNonce, aud: ISSUER },
    ...{ code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier), code_challenge_method: 'S256' },
    max_age: '600',
  })
  const page = await goThrough(createTestBrowser(server), url.href)
  codeOf(page)
  const checks = { pkceCodeVerifier, expectedState, expectedNonce, idTokenExpected: true, maxAge: 600 }
  return client.authorizationCodeGrant(config, new URL(page.url), checks)
}

const introspect = (config: client.Configuration, token: string) => client.tokenIntrospection(config, token)

test('the discovery documents are found by the rules of OpenID Connect and of RFC 8414', async () => {
  for (const algorithm of ['oidc', 'oauth2'] as const) {
    const config = await client.discovery(new URL(ISSUER), 'any', undefined, client.None(), { ...options, algorithm })
    const found = config.serverMetadata()
    assert.is(found.issuer, ISSUER)
    assert.is(found.token_endpoint, TOKEN_URL)
    assert.ok(found.supportsPKCE())
  }
})

test('a public app registers, logs a person in, refreshes and revokes', async () => {
  const config = await register({ ...APP, token_endpoint_auth_method: 'none' }, client.None())
  const tokens = await logIn(config)
  assert.is(tokens.claims()?.fhirUser, `${ISSUER}/Practitioner/doc`)
  assert.is(tokens.patient, 'p1')
  const again = await client.refreshTokenGrant(config, tokens.refresh_token ?? '')
  assert.is(again.patient, 'p1')
  assert.is(again.claims()?.sub, tokens.claims()?.sub)
  const read = (token: string) =>
    client.fetchProtectedResource(config, token, new URL(`${ISSUER}/Patient/p1`), 'GET', undefined)
  assert.is((await read(again.access_token)).status, 200)
  await client.tokenRevocation(config, again.refresh_token ?? '')
  const refused = await client
    .refreshTokenGrant(config, again.refresh_token ?? '')
    .catch((error: client.ResponseBodyError) => error)
  assert.is((refused as client.ResponseBodyError).error, 'invalid_grant')
  assert.is((await customFetch(`${ISSUER}/Patient/p1`, bearing(again.access_token))).status, 401)
})

const bearing = (token: string): client.CustomFetchOptions => ({
  ...{ method: 'GET', body: undefined, redirect: 'manual' },
  headers: { authorization: `Bearer ${token}` },
})

test('an app with a secret introspects its own tokens until it has revoked them', async () => {
  const config = await register(
    { ...APP, token_endpoint_auth_method: 'client_secret_basic' },
    client.ClientSecretBasic(),
  )
  const tokens = await logIn(config)
  const active = await introspect(config, tokens.access_token)
  assert.is(active.active, true)
  assert.is(active.scope, SCOPE)
  assert.is(active.client_id, config.clientMetadata().client_id)
  assert.is(active.sub, tokens.claims()?.sub)
  assert.is(active.patient, 'p1')
  await client.tokenRevocation(config, tokens.access_token)
  assert.equal(await introspect(config, tokens.access_token), { active: false })
  // A resource server must not take a refresh token for an access token.
  assert.equal(await introspect(config, tokens.refresh_token ?? ''), { active: false })
  const again = await client.refreshTokenGrant(config, tokens.refresh_token ?? '')
  assert.is((await introspect(config, again.access_token)).active, true, 'only the one access token was revoked')
  await client.tokenRevocation(config, again.refresh_token ?? '')
  assert.equal(await introspect(config, again.access_token), { active: false })
})

test('a backend service proves itself by its key; the library is told that the audience is the token endpoint', async () => {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-384' })
  const jwk = await exportJWK(privateKey)
  const key = await crypto.subtle.importKey('jwk', jwk, { name: 'ECDSA', namedCurve: 'P-384' }, false, ['sign'])
  const shared = Object.fromEntries(PUBLIC_JWK.map((name) => [name, jwk[name]]))
  const auth = client.PrivateKeyJwt(
    { key, kid: 'k1' },
    { [client.modifyAssertion]: (_head, claims) => void Object.assign(claims, { aud: TOKEN_URL }) },
  )
  const service = {
    ...{ token_endpoint_auth_method: 'private_key_jwt', grant_types: ['client_credentials'] },
    ...{ scope: 'system/Patient.rs', jwks: { keys: [{ ...shared, kid: 'k1', alg: 'ES384', use: 'sig' }] } },
  } as Partial<client.ClientMetadata>
  const config = await register(service, auth)
  const tokens = await client.clientCredentialsGrant(config, { scope: 'system/Patient.rs' })
  assert.is(tokens.scope, 'system/Patient.rs')
  assert.is((await customFetch(`${ISSUER}/Patient`, bearing(tokens.access_token))).status, 200)
  assert.is((await introspect(config, tokens.access_token)).active, true)
})

test('who denies gives the library an error of the server, with its state and issuer', async () => {
  const config = await register({ ...APP, token_endpoint_auth_method: 'none' }, client.None())
  const state = client.randomState()
  const url = client.buildAuthorizationUrl(config, {
    ...{ redirect_uri: REDIRECT, scope: 'launch/patient patient/*.rs', state, aud: ISSUER },
    ...{ code_challenge: await client.calculatePKCECodeChallenge(client.randomPKCECodeVerifier()) },
    code_challenge_method: 'S256',
  })
  const browser = createTestBrowser(server)
  const login = await browser.open(url.href)
  const picker = await browser.submit(login, { username: 'Dr. Demo' })
  const consent = await browser.submit(picker, { patient: 'p1' })
  const page = await browser.submit(consent, { decision: 'deny' })
  const denied = await client
    .authorizationCodeGrant(config, new URL(page.url), { expectedState: state, pkceCodeVerifier: 'x'.repeat(43) })
    .catch((error: client.AuthorizationResponseError) => error)
  assert.is((denied as client.AuthorizationResponseError).error, 'access_denied')
})

test.run()
