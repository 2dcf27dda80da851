/**
 * An OpenID provider on this machine that logs everybody in at once, with a switch for each way in which a provider can
 * be wrong.
 */
import { createHash, createPublicKey, type KeyObject, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, type JWK, SignJWT } from 'jose'
import { rsaKey } from './rsa-keys.ts'

export const CLIENT_ID = 'fhir-server'
export const CLIENT_SECRET = 'secret at the provider: + % 0001'

export type Claims = Record<string, unknown>
type Handler = (request: IncomingMessage, response: ServerResponse) => void

export interface Switches {
  /** Claims of the ID token; a member that is undefined is left out. */
  claims?: Claims
  /** Claims that only the UserInfo endpoint gives, beside `sub`. */
  userinfo?: Claims
  sign?: 'none' | 'shared-secret' | 'unknown-key' | 'no-kid'
  /** Members of the metadata. */
  metadata?: Claims
  /** Changes the parameters of the callback. */
  callback?(params: URLSearchParams): void
  /** Answers in place of the provider: path → handler. */
  answers?: Readonly<Record<string, Handler>>
  /** An error of the authorization endpoint in place of a code. */
  error?: string
  /** How many public keys are shown, the signing one among them. */
  keys?: number
}

interface Key {
  readonly kid: string
  readonly privateKey: KeyObject
  readonly jwk: JWK
}

interface Asked {
  readonly path: string
  readonly params: URLSearchParams
}

export interface FakeProvider {
  readonly issuer: string
  /** Requests since the last `behave`. */
  readonly asked: readonly Asked[]
  /** Sets the switches for what follows; without any the provider is as it should be. */
  behave(switches?: Switches): void
  /** Signs with a new key from now on. */
  rotate(): Promise<void>
  /** What a browser does there: from the URL it was sent to, to the URL it is sent back to. */
  visit(redirect: string): Promise<string>
  stop(): Promise<void>
}

/** Numbers among those of rsa-keys.ts. Providers that run at the same time have other keys. */
const UNKNOWN_KEY = 3
const FIRST_KEY = 4
const EACH = 10
const PROVIDERS = 2
let started = 0
const toKey = async (privateKey: KeyObject): Promise<Key> => {
  const kid = randomUUID()
  return { kid, privateKey, jwk: { ...(await exportJWK(createPublicKey(privateKey))), kid, use: 'sig', alg: 'RS256' } }
}

const json = (response: ServerResponse, body: object, status = 200): void => {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

const bodyOf = async (request: IncomingMessage): Promise<URLSearchParams> => {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return new URLSearchParams(text)
}

/** RFC 6749, section 2.3.1: both parts are form-encoded. */
const isClient = ({ headers: { authorization = '' } }: IncomingMessage): boolean => {
  const pair = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString().split(':')
  const [id, secret] = pair.map((part) => new URLSearchParams(`part=${part}`).get('part'))
  return id === CLIENT_ID && secret === CLIENT_SECRET
}
const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** `now` in milliseconds since the epoch. */
export const startFakeProvider = async (now: () => number = Date.now): Promise<FakeProvider> => {
  let next = FIRST_KEY + (started % PROVIDERS) * EACH
  started += 1
  const newKey = (): Promise<Key> => {
    next += 1
    return toKey(rsaKey(next))
  }
  let key = await newKey()
  const others = [await newKey(), await newKey()]
  let switches: Switches = {}
  let asked: Asked[] = []
  const codes = new Map<string, URLSearchParams>()
  let issuer = ''

  const idToken = async (nonce: string | null): Promise<string> => {
    const at = Math.floor(now() / 1000)
    const standard = { iss: issuer, sub: 'u1', aud: CLIENT_ID, iat: at, exp: at + 300, auth_time: at, nonce }
    const claims: Claims = JSON.parse(JSON.stringify({ ...standard, name: 'Ann Example', ...switches.claims }))
    const { sign } = switches
    if (sign === 'none') return `${encoded({ alg: 'none' })}.${encoded(claims)}.`
    const head = (alg: string) => new SignJWT(claims).setProtectedHeader({ alg, kid: key.kid })
    if (sign === 'shared-secret') return head('HS256').sign(Buffer.from(CLIENT_SECRET))
    if (sign === 'unknown-key') return head('RS256').sign(rsaKey(UNKNOWN_KEY))
    if (sign === 'no-kid') return new SignJWT(claims).setProtectedHeader({ alg: 'RS256' }).sign(key.privateKey)
    return head('RS256').sign(key.privateKey)
  }
  const metadata = () => ({
    issuer,
    ...{ authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/jwks` },
    ...{ response_types_supported: ['code'], subject_types_supported: ['public'] },
    ...{ id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'] },
    userinfo_endpoint: `${issuer}/userinfo`,
    ...switches.metadata,
  })
  const authorize = ({ searchParams }: URL, response: ServerResponse): void => {
    const code = randomUUID()
    codes.set(code, searchParams)
    const back = new URL(searchParams.get('redirect_uri') as string)
    back.searchParams.set(
      ...((switches.error === undefined ? ['code', code] : ['error', switches.error]) as [string, string]),
    )
    back.searchParams.set('state', searchParams.get('state') as string)
    switches.callback?.(back.searchParams)
    response.writeHead(303, { location: back.href }).end()
  }
  const token = async (request: IncomingMessage, form: URLSearchParams, response: ServerResponse): Promise<void> => {
    const started = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (!isClient(request)) return json(response, { error: 'invalid_client' }, 401)
    const isRight =
      started?.get('redirect_uri') === form.get('redirect_uri') &&
      started?.get('code_challenge_method') === 'S256' &&
      started.get('code_challenge') === challenge
    if (!isRight) return json(response, { error: 'invalid_grant' }, 400)
    const id_token = await idToken(started?.get('nonce') ?? null)
    return json(response, { access_token: randomUUID(), token_type: 'Bearer', expires_in: 60, id_token })
  }
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '', issuer)
    const form = request.method === 'POST' ? await bodyOf(request) : url.searchParams
    asked.push({ path: url.pathname, params: form })
    const other = switches.answers?.[url.pathname]
    if (other !== undefined) return other(request, response)
    if (url.pathname === '/.well-known/openid-configuration') return json(response, metadata())
    if (url.pathname === '/jwks')
      return json(response, { keys: [key, ...others].slice(0, switches.keys ?? 1).map(({ jwk }) => jwk) })
    if (url.pathname === '/authorize') return authorize(url, response)
    if (url.pathname === '/userinfo') return json(response, { sub: 'u1', ...switches.userinfo })
    if (url.pathname === '/token') return token(request, form, response)
    return json(response, {}, 404)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    issuer,
    get asked() {
      return asked
    },
    behave(wanted = {}) {
      switches = wanted
      asked = []
    },
    async rotate() {
      key = await newKey()
    },
    async visit(redirect) {
      const answer = await fetch(redirect, { redirect: 'manual' })
      await answer.body?.cancel()
      return answer.headers.get('location') as string
    },
    async stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}
