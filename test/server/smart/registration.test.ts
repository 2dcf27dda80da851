/** POST /oauth/register: who may, what is taken, and what is refused. */
// database: sqlite, because registrations are checked before they are stored; smart/bearer.test.ts registers on each kind
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { TestServer } from '../../support/server-with.ts'
import { DCR_TOKEN, register, signingKey, smartServer } from '../../support/smart-server.ts'

let server: TestServer
test.before(async () => {
  server = await smartServer()
})
test.after(async () => server.stop())

const APP = { redirect_uris: ['https://app.example.org/cb'] }

const refused = async (metadata: object, error: string, about = JSON.stringify(metadata).slice(0, 200)) => {
  const answer = await register(server, metadata)
  assert.is(answer.statusCode, 400, `${about}: ${answer.body}`)
  assert.is(answer.json().error, error, about)
  assert.is(answer.headers['cache-control'], 'no-store')
}

test('without the initial token nobody registers', async () => {
  for (const token of ['wrong', `${DCR_TOKEN}x`, DCR_TOKEN.slice(1)]) {
    const answer = await register(server, APP, token)
    assert.is(answer.statusCode, 401)
    assert.is(answer.headers['www-authenticate'], 'Bearer error="invalid_token"')
  }
  const answer = await server.inject({
    method: 'POST',
    url: '/oauth/register',
    headers: { 'content-type': 'application/json' },
    payload: JSON.stringify({ ...APP, dcr_token: DCR_TOKEN }),
  })
  assert.is(answer.statusCode, 401)
  assert.is(answer.headers['www-authenticate'], 'Bearer')
})

test('public, with a secret, with keys: what was registered comes back, a secret where there is one', async () => {
  const key = await signingKey()
  const kinds = [
    { ...APP, token_endpoint_auth_method: 'none', client_name: 'Görlitz', logo_uri: 'https://app.example.org/l.png' },
    { ...APP, token_endpoint_auth_method: 'client_secret_basic', scope: 'launch patient/*.rs' },
    {
      token_endpoint_auth_method: 'private_key_jwt',
      grant_types: ['client_credentials'],
      jwks: { keys: [key.jwk] },
      scope: 'system/*.rs',
    },
    {
      token_endpoint_auth_method: 'private_key_jwt',
      grant_types: ['client_credentials'],
      jwks_uri: 'https://app.example.org/jwks',
    },
  ]
  for (const metadata of kinds) {
    const answer = await register(server, { ...metadata, client_id: 'mine', client_secret: 'mine', unheard_of: 1 })
    assert.is(answer.statusCode, 201, answer.body)
    assert.is(answer.headers['cache-control'], 'no-store')
    const body = answer.json() as Record<string, unknown>
    for (const [name, value] of Object.entries(metadata)) assert.equal(body[name], value, name)
    assert.is.not(body.client_id, 'mine')
    assert.is(body.unheard_of, undefined)
    const hasSecret = metadata.token_endpoint_auth_method === 'client_secret_basic'
    assert.is(typeof body.client_secret === 'string' && body.client_secret !== 'mine', hasSecret)
    assert.is(body.client_secret_expires_at, hasSecret ? 0 : undefined)
  }
})

test('redirect URIs that could lead elsewhere are refused', async () => {
  await refused({}, 'invalid_redirect_uri')
  await refused({ redirect_uris: [] }, 'invalid_redirect_uri')
  for (const uri of [
    'http://app.example.org/cb',
    'http://127.0.0.1.example.org/cb',
    'https://app.example.org/cb#x',
    'https://app.example.org/cb#',
    'https://*.example.org/cb',
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'https://user@app.example.org/cb',
    'https://@app.example.org/cb',
    'https://app.example.org/c b',
    'myapp:/cb',
    '/cb',
    `https://app.example.org/${'x'.repeat(2_100)}`,
    7,
  ])
    await refused({ redirect_uris: [uri] }, 'invalid_redirect_uri')
  for (const uri of ['http://127.0.0.1/cb', 'http://[::1]:8000/cb', 'http://localhost/cb'])
    assert.is((await register(server, { redirect_uris: [uri] })).statusCode, 201, uri)
  const native = { application_type: 'native', token_endpoint_auth_method: 'none' }
  assert.is((await register(server, { ...native, redirect_uris: ['org.example.app:/cb'] })).statusCode, 201)
  await refused({ ...native, redirect_uris: ['app:/cb'] }, 'invalid_redirect_uri')
})

test('keys: not both ways, public ones only, from the public internet', async () => {
  const key = await signingKey()
  const base = { token_endpoint_auth_method: 'private_key_jwt', grant_types: ['client_credentials'] }
  const bad = 'invalid_client_metadata'
  await refused(base, bad)
  await refused({ ...base, jwks: { keys: [key.jwk] }, jwks_uri: 'https://app.example.org/jwks' }, bad)
  for (const keys of [
    [{ ...key.jwk, d: 'x' }],
    [{ kty: 'oct', k: 'x', kid: 'a' }],
    [{ ...key.jwk, kid: undefined }],
    [],
    [1],
    Array.from({ length: 51 }, () => key.jwk),
  ])
    await refused({ ...base, jwks: { keys } }, bad)
  for (const uri of [
    'http://app.example.org/jwks',
    'https://127.0.0.1/jwks',
    'https://2130706433/jwks',
    'https://0x7f.1/jwks',
    'https://10.1.2.3/jwks',
    'https://169.254.169.254/latest',
    'https://[::1]/jwks',
    'https://[::ffff:10.0.0.1]/jwks',
    'https://[fd00::1]/jwks',
    'https://[64:ff9b::a00:1]/jwks',
    'https://localhost/jwks',
    'https://x.localhost/jwks',
    'https://keys.internal/jwks',
    'https://user:pw@app.example.org/jwks',
    'ftp://app.example.org/jwks',
    7,
  ])
    await refused({ ...base, jwks_uri: uri }, bad)
})

test('methods, grants, scopes and texts are of what this server knows', async () => {
  const bad = 'invalid_client_metadata'
  for (const more of [
    { token_endpoint_auth_method: 'client_secret_post' },
    { token_endpoint_auth_method: '__proto__' },
    { grant_types: ['password'] },
    { grant_types: ['implicit'] },
    { grant_types: [] },
    { grant_types: ['client_credentials'] },
    { grant_types: ['refresh_token'] },
    { grant_types: ['client_credentials'], token_endpoint_auth_method: 'none' },
    { response_types: ['token'] },
    { response_types: [] },
    { scope: 'patient/observation.rs' },
    { scope: 7 },
    { client_name: 'x'.repeat(10_240) },
    { client_name: 'a\u0007b' },
    { client_name: 'a\u202eb' },
    { client_name: '' },
    { logo_uri: 'javascript:alert(1)' },
    { application_type: 'desktop' },
    { token_endpoint_auth_signing_alg: 'RS256' },
    { contacts: 'a@example.org' },
  ])
    await refused({ ...APP, ...more }, bad)
})

test('bodies that are not one JSON object are refused', async () => {
  const send = (payload: string, type = 'application/json') =>
    server.inject({
      method: 'POST',
      url: '/oauth/register',
      headers: { 'content-type': type, authorization: `Bearer ${DCR_TOKEN}` },
      payload,
    })
  for (const payload of ['', '{', '[]', 'null', '{"scope":"launch","scope":"openid"}', '{"__proto__":{}}'])
    assert.is((await send(payload)).json().error, 'invalid_client_metadata', payload)
  assert.is((await send('redirect_uris=x', 'application/x-www-form-urlencoded')).statusCode, 400)
  assert.is((await send(JSON.stringify({ x: 'y'.repeat(1_000_000) }))).statusCode, 413)
})

test('guesses of the initial token are counted, and then the true one waits as well', async () => {
  const limited = await smartServer({ settings: { rate_limit: { auth_failures_per_minute: 5 } } })
  for (let n = 0; n < 5; n += 1) assert.is((await register(limited, APP, `wrong-${n}`)).statusCode, 401)
  const answer = await register(limited, APP)
  assert.is(answer.statusCode, 429)
  assert.is(answer.json().error, 'temporarily_unavailable')
  assert.ok(Number(answer.headers['retry-after']) > 0)
  await limited.stop()
})

test.run()
