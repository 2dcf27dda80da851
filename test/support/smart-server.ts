/** A server that asks for tokens, and a backend service that gets them. */
import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import { exportJWK, SignJWT } from 'jose'
import limits from '../../plugins/limits/index.ts'
import smart from '../../plugins/smart/index.ts'
import type { DatabaseKind, FreshDatabase } from './database-kinds.ts'
import { rsaKey } from './rsa-keys.ts'
import {
  type AnsweringServer,
  basic,
  serverWith,
  type TestServer,
  type TestServerOptions,
  withReadyKeys,
} from './server-with.ts'

export const ISSUER = 'https://fhir.example.org/r4'
export const TOKEN_URL = `${ISSUER}/oauth/token`
export const DCR_TOKEN = 'initial-access-token-of-the-tests-0001'
export const CONFIDENTIAL_SECRET = 'secret of the built-in client: + % 0001'
export const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

export interface SmartOptions extends TestServerOptions {
  readonly smart?: Readonly<Record<string, unknown>>
}

/** Settings of a server with SMART behind `ISSUER`. */
export const smartSettings = (own: Readonly<Record<string, unknown>> = {}) => ({
  server: { bind: '127.0.0.1:0', public_url: ISSUER },
  smart: { enabled: true, dcr_token: DCR_TOKEN, confidential_secret: CONFIDENTIAL_SECRET, ...own },
})

const smartPlugins = [...basic, limits, smart]

/** A database for several of these servers, which has their tables already. */
export const freshForSmart = async (kind: DatabaseKind): Promise<FreshDatabase> =>
  kind.fresh(await withReadyKeys(smartPlugins))

export const smartServer = ({
  smart: own,
  settings,
  plugins = smartPlugins,
  ...options
}: SmartOptions = {}): Promise<TestServer> =>
  serverWith({ ...options, plugins, settings: { ...smartSettings(own), ...settings } })

export type Parameters = Readonly<Record<string, string>>

export const FORM = 'application/x-www-form-urlencoded'

/** Sends a form; a text is sent as it is. */
export const postForm = (
  server: AnsweringServer,
  path: string,
  body: Parameters | string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): Promise<LightMyRequestResponse> =>
  server.inject({
    method: 'POST',
    url: path,
    headers: { 'content-type': FORM, ...headers },
    payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : new URLSearchParams(body).toString(),
  })

export const register = (
  server: AnsweringServer,
  metadata: object,
  token = DCR_TOKEN,
): Promise<LightMyRequestResponse> =>
  server.inject({
    method: 'POST',
    url: '/oauth/register',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    payload: JSON.stringify(metadata),
  })

export interface SigningKey {
  readonly kid: string
  readonly alg: 'RS384' | 'ES384'
  readonly privateKey: KeyObject
  readonly jwk: Readonly<Record<string, unknown>>
}

const RS384_KEY = 2 // among those of rsa-keys.ts, of which a server has others

export const signingKey = async (alg: SigningKey['alg'] = 'ES384', kid: string = randomUUID()): Promise<SigningKey> => {
  const privateKey = alg === 'RS384' ? rsaKey(RS384_KEY) : generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey
  const { d: _d, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, ...jwk } = await exportJWK(privateKey)
  return { kid, alg, privateKey, jwk: { ...jwk, kid, alg, use: 'sig' } }
}

export interface Service {
  readonly id: string
  readonly key: SigningKey
}

/** Registers a backend service with its key. */
export const registerService = async (
  server: AnsweringServer,
  { scope = 'system/*.cruds', key, ...more }: { scope?: string; key?: SigningKey; [name: string]: unknown } = {},
): Promise<Service> => {
  const own = key ?? (await signingKey())
  const answer = await register(server, {
    token_endpoint_auth_method: 'private_key_jwt',
    grant_types: ['client_credentials'],
    scope,
    ...(more.jwks_uri === undefined && { jwks: { keys: [own.jwk] } }),
    ...more,
  })
  if (answer.statusCode !== 201) throw new Error(`not registered: ${answer.body}`)
  return { id: (answer.json() as { client_id: string }).client_id, key: own }
}

/** Claims and head that are right at `now`, in milliseconds; a member that is undefined is left out. */
export const assertionOf = (
  { id, key }: Service,
  { claims = {}, head = {}, now = Date.now() }: { claims?: object; head?: object; now?: number } = {},
): Promise<string> => {
  const seconds = Math.floor(now / 1000)
  const all = { iss: id, sub: id, aud: TOKEN_URL, exp: seconds + 240, jti: randomUUID(), ...claims }
  return new SignJWT(all).setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'JWT', ...head }).sign(key.privateKey)
}

/** Asks for a token with an assertion. */
export const askToken = (
  server: AnsweringServer,
  assertion: string,
  more: Parameters = { scope: 'system/*.rs' },
): Promise<LightMyRequestResponse> =>
  postForm(server, '/oauth/token', {
    grant_type: 'client_credentials',
    client_assertion_type: ASSERTION_TYPE,
    client_assertion: assertion,
    ...more,
  })

/** An access token of the service. */
export const tokenOf = async (server: AnsweringServer, service: Service, scope = 'system/*.cruds', now?: number) => {
  const answer = await askToken(server, await assertionOf(service, now === undefined ? {} : { now }), { scope })
  if (answer.statusCode !== 200) throw new Error(`no token: ${answer.body}`)
  return (answer.json() as { access_token: string }).access_token
}

/** As RFC 6749 has it: both parts form-encoded. */
export const basicOf = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`

export const BUILT_IN_BASIC = basicOf('confidential', CONFIDENTIAL_SECRET)
