/** The endpoints of OAuth as such: what they take, what they refuse, what they say; discovery, introspection and revocation. */
// database: sqlite, because requests are checked before anything is stored; smart/bearer.test.ts and smart/refresh.test.ts are on each kind
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import smart from '../../../plugins/smart/index.ts'
import { basic, serverWith, type TestServer } from '../../support/server-with.ts'
import {
  ASSERTION_TYPE,
  askToken,
  assertionOf,
  BUILT_IN_BASIC,
  FORM,
  ISSUER,
  postForm,
  registerService,
  type Service,
  smartServer,
  tokenOf,
} from '../../support/smart-server.ts'

let server: TestServer
let service: Service
let other: Service

test.before(async () => {
  server = await smartServer()
  service = await registerService(server)
  other = await registerService(server)
})
test.after(async () => server.stop())

const proofOf = async (one: Service) => ({
  client_assertion_type: ASSERTION_TYPE,
  client_assertion: await assertionOf(one),
})

test('a form by POST, and nothing else', async () => {
  for (const url of ['/oauth/token', '/oauth/introspect', '/oauth/revoke', '/oauth/register'])
    for (const method of ['GET', 'PUT', 'DELETE'] as const) {
      const { statusCode, headers } = await server.inject({ method, url: `${url}?grant_type=client_credentials` })
      assert.is(statusCode, 405, `${method} ${url}`)
      assert.is(headers.allow, 'POST')
      assert.is(headers['cache-control'], 'no-store')
    }
})

test('bodies that are no form are refused, and what they hold is not repeated', async () => {
  const good = `grant_type=client_credentials&scope=system/*.rs&client_assertion_type=${encodeURIComponent(ASSERTION_TYPE)}`
  const cases: readonly (readonly [string, number, string | Buffer, Record<string, string>])[] = [
    ['JSON', 400, '{"grant_type":"client_credentials"}', { 'content-type': 'application/json' }],
    ['text', 400, good, { 'content-type': 'text/plain' }],
    ['another charset', 400, Buffer.from('grant_type=client_cr\xe9dentials', 'latin1'), {}],
    ['a broken escape', 400, `${good}&x=%E9`, {}],
    ['packed', 400, good, { 'content-encoding': 'gzip' }],
    ['a parameter twice', 400, `${good}&scope=system/*.cruds`, {}],
    ['a parameter twice, once empty', 400, `${good}&scope=`, {}],
    ['65 KB', 413, `${good}&x=${'secret-in-body'.repeat(5_000)}`, {}],
  ]
  for (const [about, status, body, headers] of cases) {
    const answer = await postForm(server, '/oauth/token', body, { 'content-type': FORM, ...headers })
    assert.is(answer.statusCode, status, `${about}: ${answer.body}`)
    assert.is(answer.json().error, 'invalid_request', about)
    assert.equal(Object.keys(answer.json()), ['error', 'error_description'], about)
    assert.not.match(answer.body, 'secret-in-body')
    assert.is(answer.headers['cache-control'], 'no-store', about)
  }
  assert.is((await postForm(server, '/oauth/token', '', {})).json().error, 'invalid_request')
})

test('nothing is taken from the URL', async () => {
  const secret = 'secret-of-the-url-0001'
  const answer = await postForm(server, `/oauth/token?client_secret=${secret}&code=${secret}`, {
    grant_type: 'client_credentials',
    scope: 'system/*.rs',
    ...(await proofOf(service)),
  })
  assert.is(answer.statusCode, 400)
  assert.is(answer.json().error, 'invalid_request')
  assert.not.match(JSON.stringify(server.lines) + answer.body, secret)
})

test('grants: missing, not supported, inherited names', async () => {
  for (const [type, error] of [
    ['', 'invalid_request'],
    ['password', 'unsupported_grant_type'],
    ['implicit', 'unsupported_grant_type'],
    ['__proto__', 'unsupported_grant_type'],
    ['constructor', 'unsupported_grant_type'],
  ] as const) {
    const answer = await askToken(server, await assertionOf(service), { grant_type: type, scope: 'system/*.rs' })
    assert.is(answer.statusCode, 400, type)
    assert.is(answer.json().error, error, type)
    assert.match(answer.json().error_description as string, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
  }
})

test('introspection tells the built-in client of every token, and another of its own', async () => {
  const token = await tokenOf(server, service, 'system/Patient.rs')
  const asBuiltIn = async (one: string) =>
    (await postForm(server, '/oauth/introspect', { token: one }, { authorization: BUILT_IN_BASIC })).json()
  const found = (await asBuiltIn(token)) as Record<string, unknown>
  assert.is(found.active, true)
  assert.is(found.scope, 'system/Patient.rs')
  assert.is(found.client_id, service.id)
  assert.is((found.exp as number) - (found.iat as number), 300)
  const as = async (one: Service) =>
    (await postForm(server, '/oauth/introspect', { token, ...(await proofOf(one)) })).json() as { active: boolean }
  assert.is((await as(service)).active, true)
  assert.equal(await as(other), { active: false })
  for (const unknown of ['x', 'A'.repeat(43), 'a.b.c', token.slice(1)])
    assert.equal(await asBuiltIn(unknown), { active: false })
  const none = await postForm(server, '/oauth/introspect', { token })
  assert.is(none.statusCode, 401)
  const empty = await postForm(server, '/oauth/introspect', {}, { authorization: BUILT_IN_BASIC })
  assert.is(empty.json().error, 'invalid_request')
  await postForm(server, '/oauth/revoke', { token, ...(await proofOf(service)) })
  assert.equal(await asBuiltIn(token), { active: false })
})

test('a token is revoked by its client alone, and what is unknown counts as revoked', async () => {
  const token = await tokenOf(server, service, 'system/*.rs')
  const second = await tokenOf(server, service, 'system/*.rs')
  const read = async (one: string) =>
    (await server.inject({ url: '/Patient', headers: { authorization: `Bearer ${one}` } })).statusCode
  const foreign = await postForm(server, '/oauth/revoke', { token, ...(await proofOf(other)) })
  assert.is(foreign.statusCode, 400)
  assert.is(await read(token), 200)
  assert.is((await postForm(server, '/oauth/revoke', { token: 'x', ...(await proofOf(other)) })).statusCode, 200)
  assert.is((await postForm(server, '/oauth/revoke', { token })).statusCode, 401)
  assert.is((await postForm(server, '/oauth/revoke', { token, ...(await proofOf(service)) })).statusCode, 200)
  assert.is(await read(token), 401)
  assert.is(await read(second), 200, 'only that token is dead')
})

test('discovery lies in three places, says the same, and follows no header', async () => {
  const headers = { host: 'evil.test', 'x-forwarded-host': 'evil.test', 'x-forwarded-proto': 'http' }
  const bodies = new Set<string>()
  for (const url of [
    '/.well-known/smart-configuration',
    '/.well-known/openid-configuration',
    '/.well-known/oauth-authorization-server/r4',
    '/.well-known/oauth-authorization-server',
  ])
    for (const accept of ['*/*', 'application/fhir+xml']) {
      const answer = await server.inject({ url, headers: { ...headers, accept } })
      assert.is(answer.statusCode, 200, url)
      assert.match(String(answer.headers['content-type']), /^application\/json/)
      bodies.add(answer.body)
    }
  assert.is(bodies.size, 1)
  const [body = ''] = bodies
  assert.not.match(body, 'evil')
  const found = JSON.parse(body) as Record<string, any>
  assert.is(found.issuer, ISSUER)
  for (const [name, value] of Object.entries(found))
    if (/_(endpoint|uri)$/.test(name)) assert.ok((value as string).startsWith(`${ISSUER}/oauth/`), name)
  assert.equal(found.code_challenge_methods_supported, ['S256'])
  assert.equal(found.grant_types_supported, ['client_credentials'])
  assert.equal(found.token_endpoint_auth_signing_alg_values_supported, ['RS384', 'ES384'])
  assert.is(found.authorization_endpoint, undefined, 'only what is on is listed')
  assert.is((await server.inject('/.well-known/oauth-authorization-server/other')).statusCode, 404)
  for (const scope of found.scopes_supported as string[]) {
    const answer = await askToken(server, await assertionOf(service), { scope })
    assert.is(answer.json().scope, scope, 'what is listed is granted')
  }
})

test('the published keys have public members only', async () => {
  const answer = await server.inject('/oauth/jwks')
  const { keys } = answer.json() as { keys: Record<string, string>[] }
  assert.ok(keys.length >= 2)
  for (const key of keys) {
    assert.equal(Object.keys(key).sort(), ['alg', 'e', 'kid', 'kty', 'n', 'use'])
    assert.equal([key.alg, key.use, key.kty], ['RS256', 'sig', 'RSA'])
  }
  assert.is(new Set(keys.map(({ kid }) => kid)).size, keys.length)
  assert.is(answer.headers['cache-control'], 'public, max-age=600')
})

test('without SMART there is nothing of it', async () => {
  const plain = await serverWith({ plugins: [...basic, smart] })
  for (const url of ['/.well-known/smart-configuration', '/oauth/jwks'])
    assert.is((await plain.inject(url)).statusCode, 404, url)
  const { rest } = (await plain.inject('/metadata')).json() as { rest: { security?: object }[] }
  assert.is(rest[0]?.security, undefined)
  assert.is((await plain.inject('/Patient')).statusCode, 200)
  await plain.stop()
})

test('an address that others reach needs the public URL', async () => {
  const settings = { server: { bind: '0.0.0.0:0' }, smart: { enabled: true } }
  let message = ''
  try {
    await serverWith({ plugins: [...basic, smart], settings })
  } catch (error) {
    message = (error as Error).message
  }
  assert.match(message, /needs the URL they reach it at: set public_url/)
})

test.run()
