/** Access tokens on the FHIR API: who is let in, what the others hear, and how soon a revocation counts. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import audit from '../../../plugins/audit/index.ts'
import limits from '../../../plugins/limits/index.ts'
import smart from '../../../plugins/smart/index.ts'
import { createManualClock } from '../../support/manual-clock.ts'
import { basic, type TestServer } from '../../support/server-with.ts'
import {
  BUILT_IN_BASIC,
  postForm,
  registerService,
  type Service,
  smartServer,
  tokenOf,
} from '../../support/smart-server.ts'

const PER_MINUTE = 8
const clock = createManualClock()
let server: TestServer
let service: Service
let token: string

test.before(async () => {
  server = await smartServer({
    clock,
    plugins: [...basic, limits, smart, audit],
    settings: { rate_limit: { auth_failures_per_minute: PER_MINUTE, requests_per_second: 1e6, burst: 1e6 } },
  })
  service = await registerService(server)
})
test.before.each(async () => {
  // Tokens live for five minutes, and failures are counted for one.
  await clock.advance(61_000)
  token = await tokenOf(server, service, 'system/*.cruds', clock.now())
})
test.after(async () => server.stop())

const get = (url: string, authorization?: string, headers: object = {}) =>
  server.inject({ url, headers: { ...(authorization !== undefined && { authorization }), ...headers } })

test('without a token an address is 401 with a challenge and no error', async () => {
  for (const url of ['/Patient', '/Patient/1', '/', '/_audit', '/nothing/at/all/here', '/$x'])
    for (const authorization of [undefined, BUILT_IN_BASIC]) {
      const { statusCode, headers, body } = await get(url, authorization)
      assert.is(statusCode, 401, `${url}: ${body}`)
      assert.is(headers['www-authenticate'], 'Bearer', url)
      assert.is(JSON.parse(body).issue[0].code, 'login', url)
    }
})

test('what clients ask before they have a token is open, and probes ask for none', async () => {
  for (const url of ['/metadata', '/.well-known/smart-configuration', '/oauth/jwks', '/livez', '/readyz'])
    assert.is((await get(url)).statusCode, 200, url)
  for (const url of ['/livez', '/readyz', '/oauth/jwks'])
    assert.is((await get(url, 'Bearer garbage')).statusCode, 200, url)
})

test('a token that is not known is 401 invalid_token', async () => {
  for (const bad of ['Bearer garbage', `Bearer ${'A'.repeat(43)}`, 'Bearer', `Bearer ${token}x`]) {
    const { statusCode, headers, body } = await get('/Patient', bad)
    assert.is(statusCode, 401, bad)
    assert.is(headers['www-authenticate'], 'Bearer error="invalid_token"', bad)
    assert.is(JSON.parse(body).issue[0].code, 'unknown', bad)
  }
})

test('the scheme is read in any case', async () => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER'])
    assert.is((await get('/Patient', `${scheme} ${token}`)).statusCode, 200, scheme)
})

test('a token in the URL or in a body is 400, and in no line of the log', async () => {
  for (const url of [`/Patient?access_token=${token}`, `/Patient?a=b&access%5Ftoken=${token}`]) {
    for (const authorization of [undefined, `Bearer ${token}`]) {
      const { statusCode, headers } = await get(url, authorization)
      assert.is(statusCode, 400, url)
      assert.is(headers['www-authenticate'], 'Bearer error="invalid_request"')
    }
  }
  const inBody = await postForm(
    server,
    '/Patient/_search',
    { access_token: token },
    { authorization: `Bearer ${token}` },
  )
  assert.is(inBody.statusCode, 400, inBody.body)
  assert.not.match(JSON.stringify(server.lines), token)
})

test('a revoked token is refused at once where it was revoked', async () => {
  const key = token
  assert.is((await get('/Patient', `Bearer ${key}`)).statusCode, 200)
  const { assertionOf, ASSERTION_TYPE } = await import('../../support/smart-server.ts')
  const proof = async () => ({
    client_assertion_type: ASSERTION_TYPE,
    client_assertion: await assertionOf(service, { now: clock.now() }),
  })
  for (let n = 0; n < 2; n += 1) {
    const answer = await postForm(server, '/oauth/revoke', { token: key, ...(await proof()) })
    assert.is(answer.statusCode, 200, 'the same on repeat')
    assert.is(answer.body, '')
  }
  const { statusCode, body } = await get('/Patient', `Bearer ${key}`)
  assert.is(statusCode, 401)
  assert.is(JSON.parse(body).issue[0].code, 'unknown')
})

test('after too many unknown tokens none is looked up for that address, and one that was good still passes', async () => {
  assert.is((await get('/Patient', `Bearer ${token}`)).statusCode, 200)
  const fresh = await tokenOf(server, service, 'system/*.rs', clock.now())
  for (let n = 0; n < PER_MINUTE; n += 1) assert.is((await get('/Patient', 'Bearer guess')).statusCode, 401)
  const { statusCode, headers, body } = await get('/Patient', 'Bearer guess')
  assert.is(statusCode, 429)
  assert.is(JSON.parse(body).issue[0].code, 'throttled')
  assert.ok(Number(headers['retry-after']) > 0)
  assert.is((await get('/Patient', `Bearer ${fresh}`)).statusCode, 429, 'it is not looked up')
  assert.is((await get('/Patient', `Bearer ${token}`)).statusCode, 200)
  await clock.advance(2_000)
  assert.is(
    (await get('/Patient', `Bearer ${token}`)).statusCode,
    200,
    'looked up again, and known as one that was good',
  )
  const guessed = await postForm(server, '/oauth/introspect', { token: 'x' }, { authorization: 'Basic eDp5' })
  assert.is(guessed.statusCode, 429, 'secrets of clients are counted with them')
  assert.is(guessed.json().error, 'temporarily_unavailable')
  await clock.advance(61_000)
  assert.is((await get('/Patient', `Bearer ${fresh}`)).statusCode, 200)
})

test('the statement says how access is secured', async () => {
  const { rest } = (await get('/metadata')).json() as { rest: { security: any }[] }
  const { service: services, extension } = rest[0]?.security ?? {}
  assert.is(services[0].coding[0].code, 'SMART-on-FHIR')
  assert.match(JSON.stringify(extension), 'https://fhir.example.org/r4/oauth/token')
})

test('the trail has registration, token and refusal, by client and never by secret', async () => {
  await get('/Patient', 'Bearer not-a-token-of-this-server')
  const answer = await get('/_audit?_count=1000', `Bearer ${token}`)
  assert.is(answer.statusCode, 200, answer.body.slice(0, 300))
  for (const code of ['register', 'token', 'revoke']) assert.match(answer.body, `"code":"${code}"`)
  assert.match(answer.body, service.id)
  assert.match(answer.body, 'HTTP 401')
  assert.not.match(answer.body, token)
  assert.not.match(answer.body, 'not-a-token-of-this-server')
})

test.run()
