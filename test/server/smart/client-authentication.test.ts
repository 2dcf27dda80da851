/** How clients prove who they are: one way each, the one that was registered, and nothing that was sent comes back. */
// database: sqlite, because assertions and secrets are checked in the process; smart/backend-services.test.ts is on each kind
import { createHmac, createPublicKey, createSign, generateKeyPairSync, sign as signBytes } from 'node:crypto'
import { exportJWK, SignJWT } from 'jose'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { TestServer } from '../../support/server-with.ts'
import {
  ASSERTION_TYPE,
  askToken,
  assertionOf,
  BUILT_IN_BASIC,
  basicOf,
  CONFIDENTIAL_SECRET,
  ISSUER,
  postForm,
  register,
  registerService,
  type Service,
  signingKey,
  smartServer,
  TOKEN_URL,
} from '../../support/smart-server.ts'

let server: TestServer
let service: Service
let rsaService: Service

test.before(async () => {
  server = await smartServer({
    settings: { rate_limit: { auth_failures_per_minute: 10_000, requests_per_second: 1e6, burst: 1e6 } },
  })
  service = await registerService(server)
  rsaService = await registerService(server, { key: await signingKey('RS384') })
})
test.after(async () => server.stop())

const now = (): number => Math.floor(Date.now() / 1000)
const encode = (part: object | string): string =>
  Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url')
const claimsOf = ({ id }: Service, more: object = {}) => ({
  iss: id,
  sub: id,
  aud: TOKEN_URL,
  exp: now() + 200,
  jti: crypto.randomUUID(),
  ...more,
})

const assertUnknown = async (assertion: string, about: string): Promise<void> => {
  const answer = await askToken(server, assertion)
  assert.is(answer.statusCode, 401, `${about}: ${answer.body}`)
  assert.equal(
    answer.json(),
    { error: 'invalid_client', error_description: 'The client could not be authenticated.' },
    about,
  )
  assert.is(answer.headers['cache-control'], 'no-store')
}

test('claims: whose, for whom, how long and which', async () => {
  const time = now()
  const cases: readonly (readonly [string, object])[] = [
    ['another sub', { sub: 'somebody' }],
    ['another iss', { iss: 'somebody' }],
    ['both unknown', { iss: 'somebody', sub: 'somebody' }],
    ['no iss', { iss: undefined }],
    ['the issuer as aud', { aud: ISSUER }],
    ['the issuer with a slash as aud', { aud: `${ISSUER}/` }],
    ['another path as aud', { aud: `${ISSUER}/oauth/revoke` }],
    ['two audiences', { aud: [TOKEN_URL, 'https://other.example.org/token'] }],
    ['no aud', { aud: undefined }],
    ['no exp', { exp: undefined }],
    ['exp as text', { exp: String(time + 100) }],
    ['exp in the past', { exp: time - 60 }],
    ['exp too late', { exp: time + 330 }],
    ['exp beyond all time', { exp: 2 ** 60 }],
    ['nbf in the future', { nbf: time + 60 }],
    ['iat in the future', { iat: time + 60 }],
    ['no jti', { jti: undefined }],
    ['an empty jti', { jti: '' }],
    ['a number as jti', { jti: 7 }],
    ['a jti of 10 KB', { jti: 'x'.repeat(10_240) }],
  ]
  for (const [about, claims] of cases) await assertUnknown(await assertionOf(service, { claims }), about)
  const good = [{ exp: time + 299 }, { aud: [TOKEN_URL] }, { nbf: time - 1, iat: time }]
  for (const claims of good)
    assert.is((await askToken(server, await assertionOf(service, { claims }))).statusCode, 200, JSON.stringify(claims))
})

test('the parameter client_id names the same client', async () => {
  const same = await askToken(server, await assertionOf(service), { scope: 'system/*.rs', client_id: service.id })
  assert.is(same.statusCode, 200, same.body)
  const other = await askToken(server, await assertionOf(service), { scope: 'system/*.rs', client_id: rsaService.id })
  assert.is(other.json().error, 'invalid_client')
})

test('heads: algorithms that are not taken, extensions, keys that nobody registered', async () => {
  const stranger = await signingKey()
  const strange = { id: service.id, key: { ...stranger, kid: service.key.kid } }
  await assertUnknown(await assertionOf(strange), 'another key under the same kid')
  await assertUnknown(await assertionOf(strange, { head: { jwk: stranger.jwk } }), 'with the key in the head')
  await assertUnknown(await assertionOf(service, { head: { kid: undefined } }), 'no kid')
  await assertUnknown(await assertionOf(service, { head: { kid: 'unknown' } }), 'an unknown kid')
  await assertUnknown(await assertionOf(service, { head: { jku: 'https://evil.example.org/jwks' } }), 'a jku')

  const none = `${encode({ alg: 'none', kid: service.key.kid })}.${encode(claimsOf(service))}.`
  await assertUnknown(none, 'alg none')
  const pem = createPublicKey(rsaService.key.privateKey).export({ format: 'pem', type: 'spki' }) as string
  const hsBody = `${encode({ alg: 'HS256', kid: rsaService.key.kid })}.${encode(claimsOf(rsaService))}`
  await assertUnknown(`${hsBody}.${createHmac('sha256', pem).update(hsBody).digest('base64url')}`, 'HS256 with the PEM')
  const rs256 = new SignJWT(claimsOf(rsaService)).setProtectedHeader({ alg: 'RS256', kid: rsaService.key.kid })
  await assertUnknown(await rs256.sign(rsaService.key.privateKey), 'RS256')
  // The head says ES384 and names an RSA key.
  const mixed = `${encode({ alg: 'ES384', kid: rsaService.key.kid })}.${encode(claimsOf(rsaService))}`
  const mixedSignature = signBytes('sha384', Buffer.from(mixed), rsaService.key.privateKey).toString('base64url')
  await assertUnknown(`${mixed}.${mixedSignature}`, 'alg and key that do not fit')

  const signed = (head: object, payload: string | object = claimsOf(service), der = false): string => {
    const text = `${encode({ alg: 'ES384', kid: service.key.kid, ...head })}.${encode(payload)}`
    const dsaEncoding = der ? ('der' as const) : ('ieee-p1363' as const)
    const signature = createSign('sha384').update(text).sign({ key: service.key.privateKey, dsaEncoding })
    return `${text}.${signature.toString('base64url')}`
  }
  assert.is((await askToken(server, signed({}))).statusCode, 200, 'signed by hand, and good')
  await assertUnknown(signed({ crit: ['exp'] }), 'crit')
  await assertUnknown(signed({ b64: false, crit: ['b64'] }), 'b64')
  await assertUnknown(signed({}, claimsOf(service), true), 'a signature in DER')
  const claims = JSON.stringify(claimsOf(service))
  await assertUnknown(signed({}, `{"iss":"x",${claims.slice(1)}`), 'a member twice')
  const zero = signed({}).split('.').slice(0, 2).join('.')
  await assertUnknown(`${zero}.${Buffer.alloc(96).toString('base64url')}`, 'r = s = 0')
  await assertUnknown('a.b.c', 'no JWT')
  await assertUnknown('x'.repeat(20_000), 'much text')
})

test('keys that are too small, of another curve, for another use, or there twice', async () => {
  const small = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey
  const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const jwkOf = async (key: typeof small) => {
    const { kty, n, e, crv, x, y } = await exportJWK(createPublicKey(key))
    return JSON.parse(JSON.stringify({ kty, n, e, crv, x, y })) as object
  }
  const base = {
    token_endpoint_auth_method: 'private_key_jwt',
    grant_types: ['client_credentials'],
    scope: 'system/*.rs',
  }
  const registered = async (keys: object[]) =>
    (await register(server, { ...base, jwks: { keys } })).json().client_id as string
  const tiny = await registered([{ ...(await jwkOf(small)), kid: 'a' }])
  const text = `${encode({ alg: 'RS384', kid: 'a' })}.${encode(claimsOf({ id: tiny, key: service.key }))}`
  await assertUnknown(`${text}.${signBytes('sha384', Buffer.from(text), small).toString('base64url')}`, 'RSA 1024')
  const other = await registered([{ ...(await jwkOf(p256)), kid: 'a' }])
  const curve = `${encode({ alg: 'ES384', kid: 'a' })}.${encode(claimsOf({ id: other, key: service.key }))}`
  const made = createSign('sha384').update(curve).sign({ key: p256, dsaEncoding: 'ieee-p1363' })
  await assertUnknown(`${curve}.${made.toString('base64url')}`, 'P-256 under ES384')
  const key = await signingKey()
  for (const [about, keys] of [
    ['twice', [key.jwk, { ...(await signingKey('ES384', key.kid)).jwk }]],
    ['for encryption', [{ ...key.jwk, use: 'enc' }]],
    ['not for checking', [{ ...key.jwk, use: undefined, key_ops: ['sign'] }]],
    ['of another algorithm', [{ ...key.jwk, alg: 'ES256' }]],
  ] as const)
    await assertUnknown(await assertionOf({ id: await registered([...keys]), key }), about)
})

test('the algorithm that was registered is the only one', async () => {
  const key = await signingKey()
  const only = await registerService(server, { key, token_endpoint_auth_signing_alg: 'RS384' })
  await assertUnknown(await assertionOf(only), 'ES384 where RS384 is registered')
})

test('the type of the assertion is exact', async () => {
  for (const type of ['', 'urn:ietf:params:oauth:client-assertion-type:saml2-bearer', `${ASSERTION_TYPE}x`]) {
    const body = {
      grant_type: 'client_credentials',
      scope: 'system/*.rs',
      client_assertion: await assertionOf(service),
    }
    const answer = await postForm(server, '/oauth/token', { ...body, client_assertion_type: type })
    assert.is(answer.statusCode, 401, type)
  }
})

test('several ways at once are refused, whatever they prove', async () => {
  const asked = { grant_type: 'client_credentials', scope: 'system/*.rs' }
  const proof = { client_assertion_type: ASSERTION_TYPE, client_assertion: await assertionOf(service) }
  const answers = [
    await postForm(server, '/oauth/token', { ...asked, ...proof }, { authorization: BUILT_IN_BASIC }),
    await postForm(server, '/oauth/token', { ...asked, client_secret: 'x' }, { authorization: BUILT_IN_BASIC }),
    await postForm(server, '/oauth/token', { ...asked, ...proof, client_secret: 'x' }),
  ]
  for (const { statusCode, body } of answers) {
    assert.is(statusCode, 400, body)
    assert.is(JSON.parse(body).error, 'invalid_request')
  }
})

test('Basic: form-encoded or as it is, and nothing else', async () => {
  const ask = (authorization: string, more: object = {}) =>
    postForm(server, '/oauth/introspect', { token: 'unknown', ...more }, { authorization })
  const raw = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`
  for (const good of [
    BUILT_IN_BASIC,
    raw(`confidential:${CONFIDENTIAL_SECRET}`),
    BUILT_IN_BASIC.replace('Basic', 'basic'),
  ])
    assert.is((await ask(good)).statusCode, 200, good)
  const plus = encodeURIComponent(CONFIDENTIAL_SECRET).replaceAll('%20', '+')
  assert.is((await ask(raw(`confidential:${plus}`))).statusCode, 200)
  assert.is((await ask(BUILT_IN_BASIC, { client_id: 'confidential' })).statusCode, 200)
  for (const bad of [
    basicOf('confidential', `${CONFIDENTIAL_SECRET}x`),
    basicOf('nobody', CONFIDENTIAL_SECRET),
    basicOf(service.id, CONFIDENTIAL_SECRET),
    raw('confidential'),
    raw('confidential:'),
    raw(`:${CONFIDENTIAL_SECRET}`),
    'Basic ***',
    'Basic',
    `Bearer ${CONFIDENTIAL_SECRET.replaceAll(' ', '')}`,
  ]) {
    const answer = await ask(bad)
    assert.is(answer.statusCode, 401, bad)
    assert.is(answer.json().error, 'invalid_client', bad)
    assert.match(String(answer.headers['www-authenticate']), /^Basic /, bad)
  }
  assert.is((await ask(BUILT_IN_BASIC, { client_id: service.id })).statusCode, 401, 'another client_id')
})

test('a secret in the body, or from a public client, is refused', async () => {
  const app = await register(server, {
    redirect_uris: ['https://app.example.org/cb'],
    token_endpoint_auth_method: 'none',
  })
  const { client_id: open } = app.json() as { client_id: string }
  for (const body of [
    { token: 'x', client_id: 'confidential', client_secret: CONFIDENTIAL_SECRET },
    { token: 'x', client_id: open, client_secret: 'y' },
    { token: 'x', client_id: 'confidential' },
    { token: 'x', client_id: open },
    { token: 'x' },
  ]) {
    const answer = await postForm(server, '/oauth/introspect', body)
    assert.is(answer.statusCode, 401, JSON.stringify(body))
    assert.is(answer.json().error, 'invalid_client')
  }
})

test('neither secrets nor assertions are in the log', () => {
  const log = JSON.stringify(server.lines)
  assert.not.match(log, CONFIDENTIAL_SECRET.slice(0, 20))
  assert.not.match(log, /eyJ[\w-]{20}/)
})

test.run()
