/** Probes of client authentication, registration, metadata and keys: points 45 to 59, 70 and 78 to 83 of the checklist. */
import { randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'
import { ASSERTION_TYPE, basicOf, signingKey } from '../support/smart-server.ts'
import { type Issued, issueCode } from './requests.ts'
import { type Answer, type Client, type Endpoint, membersOf, type Probe, type Target, verdict } from './target.ts'

type Proof = (
  client: Client,
  target: Target,
) => {
  form?: readonly (readonly [string, string])[]
  headers?: Record<string, string>
}

const send = async (target: Target, issued: Issued, prove: Proof): Promise<Answer> => {
  const { form = [], headers = {} } = prove(issued.client, target)
  const right: [string, string][] = [
    ['grant_type', 'authorization_code'],
    ['code', issued.code],
    ['redirect_uri', issued.client.redirectUri],
    ['code_verifier', issued.verifier],
  ]
  return target.send('token', { form: [...right, ...form], headers })
}
const proof = (point: number, about: string, name: 'app' | 'secret', prove: Proof): Probe => ({
  point,
  about,
  run: async (target) => send(target, await issueCode(target, name), prove),
})
const basic = (id: string, secret = ''): Record<string, string> => ({ authorization: basicOf(id, secret) })
const raw = (text: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(text).toString('base64')}`,
})

interface Assertion {
  readonly claims?: Readonly<Record<string, unknown>>
  readonly head?: Readonly<Record<string, unknown>>
  readonly form?: Readonly<Record<string, string>>
  readonly scope?: string | null
  readonly foreign?: boolean
}

const assertion = async ({ clients: { service }, tokenUrl }: Target, given: Assertion): Promise<string> => {
  const at = Math.floor(Date.now() / 1000)
  const standard = { iss: service.id, sub: service.id, aud: tokenUrl, exp: at + 240, iat: at, jti: randomUUID() }
  const claims = JSON.parse(JSON.stringify({ ...standard, ...given.claims })) as Record<string, unknown>
  const head = { alg: 'ES384', kid: service.key.kid, typ: 'JWT', ...given.head }
  if (head.alg === 'none') {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    return `${part(head)}.${part(claims)}.`
  }
  if (head.alg === 'HS256')
    return new SignJWT(claims).setProtectedHeader(head).sign(Buffer.from(JSON.stringify(service.key.jwk)))
  const key = given.foreign === true ? await signingKey() : service.key
  return new SignJWT(claims).setProtectedHeader(head).sign(key.privateKey, { crit: { x: false } })
}
const askedWith = (target: Target, made: string, { form = {}, scope = 'system/*.rs' }: Assertion): Promise<Answer> =>
  target.send('token', {
    form: {
      ...{ grant_type: 'client_credentials', client_assertion_type: ASSERTION_TYPE, client_assertion: made },
      ...(scope !== null && { scope }),
      ...form,
    },
  })
const asserted = (point: number, about: string, given: Assertion): Probe => ({
  point,
  about: `assertion: ${about}`,
  run: async (target) => askedWith(target, await assertion(target, given), given),
})
const seconds = (): number => Math.floor(Date.now() / 1000)

const register = (target: Target, metadata: unknown, token = target.dcrToken): Promise<Answer> =>
  target.send('register', {
    body: typeof metadata === 'string' ? metadata : JSON.stringify(metadata),
    headers: { 'content-type': 'application/json', ...(token !== '' && { authorization: `Bearer ${token}` }) },
  })
const WEB = { redirect_uris: ['https://new.example.org/cb'], token_endpoint_auth_method: 'none', client_name: 'New' }
const registered = (point: number, about: string, changes: object): Probe => ({
  point,
  about: `registration: ${about}`,
  run: (target) => register(target, { ...WEB, ...changes }),
})
const redirects = (uri: string): Probe => registered(79, `redirect ${uri}`, { redirect_uris: [uri] })

const headersAt = (endpoint: Endpoint, about: string, isRight: (value: string | undefined) => boolean): Probe => ({
  point: 82,
  about,
  async run(target) {
    const { headers } = await target.send(endpoint, { headers: { origin: 'https://any.example.org' } })
    return verdict(isRight(headers['access-control-allow-origin']))
  },
})

export const CLIENT_PROBES: readonly Probe[] = [
  proof(45, 'Basic', 'secret', ({ id, secret }) => ({ headers: basic(id, secret) })),
  proof(45, 'Basic and a secret in the body', 'secret', ({ id, secret = '' }) => ({
    headers: basic(id, secret),
    form: [['client_secret', secret]],
  })),
  proof(46, 'another client_id in the body', 'secret', ({ id, secret }, { clients }) => ({
    headers: basic(id, secret),
    form: [['client_id', clients.other.id]],
  })),
  proof(46, 'the same client_id in the body', 'secret', ({ id, secret }) => ({
    headers: basic(id, secret),
    form: [['client_id', id]],
  })),
  proof(47, 'a confidential client without a secret', 'secret', ({ id }) => ({ form: [['client_id', id]] })),
  proof(47, 'a public client with Basic', 'app', ({ id }) => ({ headers: basic(id, 'x') })),
  proof(47, 'a public client with a secret in the body', 'app', ({ id }) => ({
    form: [
      ['client_id', id],
      ['client_secret', 'x'],
    ],
  })),
  proof(48, 'a wrong secret', 'secret', ({ id }) => ({ headers: basic(id, 'wrong') })),
  proof(48, 'an unknown client', 'secret', () => ({ headers: basic('nobody', 'wrong') })),
  proof(48, 'no client', 'app', () => ({})),
  {
    point: 6,
    about: '401 has WWW-Authenticate',
    async run(target) {
      const wrong = () => ({ headers: basic(target.clients.secret.id, 'wrong') })
      const { status, headers } = await send(target, await issueCode(target, 'secret'), wrong)
      return verdict(status === 401 && headers['www-authenticate']?.startsWith('Basic') === true)
    },
  },
  {
    point: 48,
    about: 'an unknown client and a wrong secret get the same answer',
    async run(target) {
      const issued = await issueCode(target, 'secret')
      const one = await send(target, issued, ({ id }) => ({ headers: basic(id, 'wrong') }))
      const other = await send(target, issued, () => ({ headers: basic('nobody', 'wrong') }))
      return verdict(one.status === other.status && one.body === other.body)
    },
  },
  proof(49, 'Basic that is not form-encoded', 'secret', ({ id, secret }) => ({ headers: raw(`${id}:${secret}`) })),
  proof(49, 'Basic without a colon', 'secret', ({ id }) => ({ headers: raw(id) })),
  proof(49, 'Basic that is not base64', 'secret', () => ({ headers: { authorization: 'Basic !!!' } })),
  proof(49, 'Basic with an empty secret', 'secret', ({ id }) => ({ headers: basic(id) })),
  proof(50, 'a secret in the body where Basic is registered', 'secret', ({ id, secret = '' }) => ({
    form: [
      ['client_id', id],
      ['client_secret', secret],
    ],
  })),
  asserted(52, 'right', {}),
  asserted(52, 'alg none', { head: { alg: 'none' } }),
  asserted(52, 'HS256 with the public key', { head: { alg: 'HS256' } }),
  asserted(52, 'wrong type', { form: { client_assertion_type: 'x' } }),
  asserted(53, 'iss is another', { claims: { iss: 'x' } }),
  asserted(53, 'sub is another', { claims: { sub: 'x' } }),
  asserted(53, 'aud is another', { claims: { aud: 'https://evil.test' } }),
  asserted(53, 'no aud', { claims: { aud: undefined } }),
  asserted(53, 'no exp', { claims: { exp: undefined } }),
  asserted(53, 'exp is a text', { claims: { exp: '9999999999' } }),
  asserted(53, 'exp is past', { claims: { exp: 1 } }),
  asserted(53, 'no jti', { claims: { jti: undefined } }),
  asserted(54, 'exp an hour ahead', { claims: { exp: seconds() + 3600 } }),
  asserted(54, 'nbf ahead', { claims: { nbf: seconds() + 600 } }),
  asserted(55, 'unknown kid', { head: { kid: 'x' } }),
  asserted(55, 'key of another', { foreign: true }),
  asserted(52, 'crit', { head: { crit: ['x'], x: 1 } }),
  asserted(46, 'another client_id in the body', { form: { client_id: 'x' } }),
  {
    point: 56,
    about: 'assertion: twice',
    async run(target) {
      const made = await assertion(target, {})
      await askedWith(target, made, {})
      return askedWith(target, made, {})
    },
  },
  {
    point: 56,
    about: 'assertion: of ten at once one succeeds',
    async run(target) {
      const made = await assertion(target, {})
      const all = await Promise.all(Array.from({ length: 10 }, () => askedWith(target, made, {})))
      return verdict(all.filter(({ status }) => status === 200).length === 1)
    },
  },
  asserted(70, 'no scope', { scope: null }),
  asserted(70, 'a scope for people', { scope: 'patient/*.rs' }),
  asserted(70, 'openid', { scope: 'openid' }),
  {
    point: 70,
    about: 'client_credentials give no refresh token',
    async run(target) {
      const members = membersOf(await askedWith(target, await assertion(target, {}), {}))
      return verdict(members.refresh_token === undefined && Number(members.expires_in) <= 300)
    },
  },
  { point: 78, about: 'registration: right', run: (target) => register(target, WEB) },
  { point: 78, about: 'registration: no token', run: (target) => register(target, WEB, '') },
  { point: 78, about: 'registration: wrong token', run: (target) => register(target, WEB, 'x'.repeat(40)) },
  { point: 78, about: 'registration: a list', run: (target) => register(target, []) },
  { point: 78, about: 'registration: no JSON', run: (target) => register(target, '{') },
  {
    point: 78,
    about: 'registration: client_id is not chosen by the caller',
    async run(target) {
      const { client_id } = membersOf(await register(target, { ...WEB, client_id: 'mine' }))
      return verdict(client_id !== 'mine')
    },
  },
  {
    point: 78,
    about: 'registration: client_secret is not chosen by the caller',
    async run(target) {
      const own = { ...WEB, token_endpoint_auth_method: 'client_secret_basic', client_secret: 'mine'.repeat(10) }
      return verdict(membersOf(await register(target, own)).client_secret !== own.client_secret)
    },
  },
  ...[
    ...['http://new.example.org/cb', 'https://new.example.org/cb#x', 'https://user@new.example.org/cb'],
    ...[
      'javascript:alert(1)',
      'data:text/html,x',
      'vbscript:x',
      'file:///etc/passwd',
      'com.example.app:/cb',
      '/cb',
      'x',
    ],
  ].map(redirects),
  registered(80, 'no redirect_uris', { redirect_uris: undefined }),
  registered(80, 'implicit', { grant_types: ['implicit'], response_types: ['token'] }),
  registered(80, 'unknown grant', { grant_types: ['x'] }),
  registered(80, 'a key and a URL of keys', {
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [] },
    jwks_uri: 'https://new.example.org/jwks',
  }),
  registered(80, 'private_key_jwt without keys', { token_endpoint_auth_method: 'private_key_jwt' }),
  registered(80, 'a secret key', {
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [{ kty: 'oct', k: 'AAAA', kid: '1' }] },
  }),
  registered(81, 'unknown method', { token_endpoint_auth_method: 'x' }),
  registered(81, 'client_credentials of a public client', { grant_types: ['client_credentials'], redirect_uris: [] }),
  headersAt('discovery', 'CORS at the metadata', (value) => value !== undefined),
  headersAt('jwks', 'CORS at the keys', (value) => value !== undefined),
  {
    point: 83,
    about: 'the keys are public',
    async run(target) {
      const { keys } = membersOf(await target.send('jwks', {})) as { keys: readonly Record<string, unknown>[] }
      const secret = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']
      return verdict(keys.length > 0 && keys.every((key) => !secret.some((name) => name in key)))
    },
  },
]
