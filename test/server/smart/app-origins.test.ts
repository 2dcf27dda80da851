/** Which pages of other origins a server with SMART lets in: those of registered apps, and everybody to discovery. */
// database: sqlite, because origins are compared in the process
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import cors from '../../../plugins/cors/index.ts'
import smart from '../../../plugins/smart/index.ts'
import { createManualClock } from '../../support/manual-clock.ts'
import { basic, type TestServer } from '../../support/server-with.ts'
import { register, signingKey, smartServer } from '../../support/smart-server.ts'

const APP = 'https://app.example.org'
let server: TestServer
const clock = createManualClock(Date.now())
test.before(async () => {
  server = await smartServer({ plugins: [...basic, cors, smart], clock })
})
test.after(() => server.stop())

const allowed = async (origin: string, url: string, method: 'GET' | 'OPTIONS' = 'GET'): Promise<unknown> => {
  const more = method === 'GET' ? {} : { 'access-control-request-method': 'POST' }
  const { statusCode, headers } = await server.inject({ method, url, headers: { origin, ...more } })
  if (method === 'OPTIONS') assert.is(statusCode, headers['access-control-allow-origin'] === undefined ? 401 : 204)
  assert.is(headers['access-control-allow-credentials'], undefined)
  return headers['access-control-allow-origin']
}

test('pages of every origin read discovery, keys and /metadata', async () => {
  for (const url of [
    '/.well-known/smart-configuration',
    '/.well-known/openid-configuration',
    '/.well-known/oauth-authorization-server',
    '/.well-known/oauth-authorization-server/r4',
    '/oauth/jwks',
    '/metadata',
  ])
    for (const origin of [APP, 'null', 'https://anybody.example']) {
      assert.is(await allowed(origin, url), '*', url)
      assert.is(await allowed(origin, url, 'OPTIONS'), '*', url)
    }
})

test('an app is let in as soon as it is registered, to the token endpoint and to the data', async () => {
  assert.is(await allowed(APP, '/Patient'), undefined)
  const { jwk } = await signingKey()
  const answer = await register(server, {
    token_endpoint_auth_method: 'private_key_jwt',
    grant_types: ['client_credentials', 'authorization_code'],
    response_types: ['code'],
    redirect_uris: [`${APP}/callback?x=1`, 'http://127.0.0.1:5000/cb'],
    scope: 'system/*.rs',
    jwks: { keys: [jwk] },
  })
  assert.is(answer.statusCode, 201, answer.body)
  for (const url of ['/oauth/token', '/Patient', '/Patient/1'])
    for (const origin of [APP, 'http://127.0.0.1:5000']) assert.is(await allowed(origin, url, 'OPTIONS'), origin)
  // Without a token it reads that it needs one.
  const refused = await server.inject({ url: '/Patient', headers: { origin: APP } })
  assert.is(refused.statusCode, 401)
  assert.is(refused.headers['access-control-allow-origin'], APP)
  for (const other of ['https://app.example.org.evil.test', 'https://evil.test', 'null', 'http://127.0.0.1:5001'])
    assert.is(await allowed(other, '/Patient', 'OPTIONS'), undefined, other)
})

test.run()
