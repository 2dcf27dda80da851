/** What the authorization endpoint takes and refuses, and how it tells: by a redirect to the client, or by a page. */
// database: sqlite, because requests are checked before a login is stored; smart/code-flow.test.ts is on each kind
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { assertQuick, cpuTime } from '../../support/cpu-time.ts'
import {
  type App,
  askFor,
  goThrough,
  loginClinic,
  REDIRECT,
  registerApp,
  returned,
} from '../../support/login-clinic.ts'
import type { TestServer } from '../../support/server-with.ts'
import { FORM, ISSUER, postForm } from '../../support/smart-server.ts'
import { createTestBrowser } from '../../support/test-browser.ts'

let server: TestServer
let app: App

test.before(async () => {
  server = await loginClinic()
  app = await registerApp(server)
})
test.after(async () => server.stop())

const get = (url: string, headers: Record<string, string> = {}) => server.inject({ url, headers })
const post = (body: string, headers: Record<string, string> = {}) =>
  server.inject({
    method: 'POST',
    url: '/oauth/authorize',
    headers: { 'content-type': FORM, ...headers },
    payload: body,
  })

/** The error of the redirect; the status where there is no redirect. */
const errorOf = async (url: string): Promise<string | number | null> => {
  const { headers, statusCode } = await get(url)
  if (headers.location === undefined) return statusCode
  assert.is(statusCode, 303)
  const back = new URL(headers.location)
  if (!headers.location.startsWith(REDIRECT)) return 'pages'
  assert.is(back.searchParams.get('iss'), ISSUER)
  assert.is(back.searchParams.get('code'), null)
  return back.searchParams.get('error')
}
const asking = (more: Record<string, string | undefined>, scope = 'openid launch/patient patient/*.rs') =>
  errorOf(askFor(app, scope, more).url)

test('a request by GET and one by POST lead to the same page, by a redirect that is not repeated as POST', async () => {
  const asked = askFor(app, 'openid')
  const query = asked.url.slice(asked.url.indexOf('?') + 1)
  for (const answer of [await get(asked.url), await post(query)]) {
    assert.is(answer.statusCode, 303)
    assert.match(answer.headers.location as string, /^https:\/\/fhir\.example\.org\/r4\/oauth\/interaction\/[\w-]{43}$/)
    assert.is(answer.headers['cache-control'], 'no-store')
    assert.is(answer.headers['referrer-policy'], 'no-referrer')
    assert.match(
      [answer.headers['set-cookie']].flat().join(),
      /^__Host-smart-login-[0-9a-f]{16}=[\w-]{43}\.[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=900$/,
    )
  }
})

test('without a known client and one of its redirect URIs there is a page, and no redirect', async () => {
  const other = await registerApp(server, { redirect_uris: ['https://other.example.org/cb'] })
  const uris = [
    ...[`${REDIRECT}/`, `${REDIRECT}?x=1`, REDIRECT.toUpperCase(), 'https://app.example.org/Callback'],
    ...[
      'http://app.example.org/callback',
      'https://app.example.org:444/callback',
      'https://app.example.org/%63allback',
    ],
    ...['https://app.example.org/x/../callback', 'https://user@app.example.org/callback', `${REDIRECT}#f`],
    ...['https://app.example.org%2ecallback', other.redirectUri, 'javascript:alert(1)', 'http://localhost/callback'],
  ]
  const cases: Record<string, string | undefined>[] = [
    { client_id: undefined },
    { client_id: 'unknown' },
    { client_id: '__proto__' },
    { client_id: 'confidential' },
    { redirect_uri: undefined },
    ...uris.map((uri) => ({ redirect_uri: uri })),
  ]
  for (const more of cases) {
    const answer = await get(askFor(app, 'openid', more).url)
    assert.is(answer.statusCode, 400, JSON.stringify(more))
    assert.is(answer.headers.location, undefined)
    assert.match(answer.headers['content-type'] as string, 'text/html')
    assert.match(answer.headers['content-security-policy'] as string, "frame-ancestors 'none'")
  }
  for (const name of ['client_id', 'redirect_uri']) {
    const { url, parameters } = askFor(app, 'openid')
    const twice = await get(`${url}&${name}=${encodeURIComponent(parameters[name] as string)}`)
    assert.is(twice.statusCode, 400, name)
    assert.is(twice.headers.location, undefined)
  }
})

test('the port of a loopback address is the choice of a native app; localhost is compared as it is', async () => {
  const native = await registerApp(server, {
    application_type: 'native',
    redirect_uris: ['http://127.0.0.1/cb', 'http://localhost/cb', 'http://[::1]:9/cb', 'org.example.app:/cb'],
  })
  const web = await registerApp(server, { redirect_uris: ['http://127.0.0.1/cb'] })
  const takes = async (one: App, uri: string) =>
    (await get(askFor(one, 'openid', { redirect_uri: uri }).url)).statusCode === 303
  for (const uri of [
    'http://127.0.0.1/cb',
    'http://127.0.0.1:51004/cb',
    'http://[::1]:51004/cb',
    'org.example.app:/cb',
  ])
    assert.is(await takes(native, uri), true, uri)
  for (const uri of [
    ...['http://localhost:51004/cb', 'http://127.0.0.1:51004/cb/', 'http://127.0.0.1:51004/cb?x=1'],
    ...[
      'http://127.0.0.1:x/cb',
      'http://127.0.0.1:80@evil.example/cb',
      'http://127.0.0.2:51004/cb',
      'https://127.0.0.1/cb',
    ],
  ])
    assert.is(await takes(native, uri), false, uri)
  assert.is(await takes(web, 'http://127.0.0.1/cb'), true)
  assert.is(await takes(web, 'http://127.0.0.1:51004/cb'), false)
})

test('the response is a code in the query, and nothing else', async () => {
  assert.is(await asking({ response_type: undefined }), 'invalid_request')
  assert.is(await asking({ response_type: 'token' }), 'unsupported_response_type')
  assert.is(await asking({ response_type: 'code id_token' }), 'unsupported_response_type')
  assert.is(await asking({ response_mode: 'fragment' }), 'invalid_request')
  assert.is(await asking({ response_mode: 'query' }), 'pages')
})

test('PKCE with S256 is required of every client', async () => {
  const confidential = await registerApp(server, { token_endpoint_auth_method: 'client_secret_basic' })
  for (const one of [app, confidential])
    for (const more of [
      { code_challenge: undefined, code_challenge_method: undefined },
      { code_challenge: undefined },
      { code_challenge_method: undefined },
      { code_challenge_method: 'plain' },
      { code_challenge_method: 'S512' },
      { code_challenge: 'a'.repeat(42) },
      { code_challenge: 'a'.repeat(44) },
      { code_challenge: 'a'.repeat(129) },
      { code_challenge: `${'a'.repeat(42)}+` },
    ])
      assert.is(await errorOf(askFor(one, 'openid', more).url), 'invalid_request', JSON.stringify(more))
})

test('state is required, and comes back as it was sent', async () => {
  assert.is(await asking({ state: undefined }), 'invalid_request')
  assert.is(await asking({ state: 'x'.repeat(6_000) }), 'pages')
  const state = `%20 + & = # é "${'x'.repeat(4_000)}`
  const { parameters } = askFor(app, 'openid', { state, response_type: 'token' })
  const answer = await post(new URLSearchParams(parameters).toString())
  assert.is(new URL(answer.headers.location as string).searchParams.get('state'), state)
  const page = await goThrough(createTestBrowser(server), askFor(app, 'openid', { state: '%20 + & = # é "' }).url)
  assert.is(returned(page).get('state'), '%20 + & = # é "')
  const long = await post(
    new URLSearchParams({ ...parameters, response_type: 'code', state: 'x'.repeat(9_000) }).toString(),
  )
  const back = new URL(long.headers.location as string).searchParams
  assert.is(back.get('error'), 'invalid_request')
  assert.is(back.get('state'), null)
})

test('aud, or resource, is this server', async () => {
  assert.is(await asking({ aud: undefined }), 'invalid_request')
  assert.is(await asking({ aud: '' }), 'invalid_request')
  assert.is(await asking({ aud: 'https://other.example.org/r4' }), 'invalid_request')
  assert.is(await asking({ aud: `${ISSUER}/` }), 'pages')
  assert.is(await asking({ aud: `${ISSUER}//` }), 'invalid_request')
  assert.is(await asking({ aud: undefined, resource: ISSUER }), 'pages')
  assert.is(await asking({ resource: 'https://other.example.org/r4' }), 'invalid_request')
})

test('scopes that nobody can have are left out; when none is left the request is refused', async () => {
  for (const scope of ['', 'unknown', 'system/*.rs', 'patient/Foo.rs patient/*.sr', '"openid"'])
    assert.is(await asking({}, scope), 'invalid_scope', scope)
  assert.is(await asking({}, 'openid unknown'), 'pages')
  for (const scope of ['openid "', 'openid patient\\*.rs', 'openid\tfhirUser', 'openid ü'])
    assert.is(await asking({}, scope), 'invalid_scope', scope)
  const without = await registerApp(server, { grant_types: ['authorization_code'] })
  assert.is(await errorOf(askFor(without, 'offline_access').url), 'invalid_scope')
  const limited = await registerApp(server, { scope: 'openid patient/Observation.rs' })
  assert.is(await errorOf(askFor(limited, 'user/*.rs offline_access').url), 'invalid_scope')
})

test('a parameter that is given twice is refused, and the state that is given twice is not returned', async () => {
  const { url } = askFor(app, 'openid')
  assert.is(await errorOf(`${url}&scope=openid`), 'invalid_request')
  assert.is(await errorOf(`${url}&x=1&x=1`), 'invalid_request')
  const { headers } = await get(`${url}&state=other`)
  assert.is(new URL(headers.location as string).searchParams.get('state'), null)
})

test('request objects are refused, and nothing is fetched', async () => {
  assert.is(await asking({ request: 'a.b.c' }), 'request_not_supported')
  assert.is(await asking({ request_uri: 'http://127.0.0.1:1/x' }), 'request_uri_not_supported')
  assert.is(await asking({ registration: '{}' }), 'registration_not_supported')
})

test('prompt and max_age are what OpenID Connect has', async () => {
  assert.is(await asking({ prompt: 'none' }), 'login_required')
  assert.is(await asking({ prompt: 'none', max_age: '0' }), 'login_required')
  assert.is(await asking({ prompt: 'none login' }), 'invalid_request')
  assert.is(await asking({ prompt: 'other' }), 'invalid_request')
  assert.is(await asking({ max_age: '-1' }), 'invalid_request')
  assert.is(await asking({ max_age: '1.5' }), 'invalid_request')
  assert.is(await asking({ prompt: 'login consent' }), 'pages')
})

test('what is not a form in UTF-8 gets a page', async () => {
  for (const answer of [
    await get('/oauth/authorize?client_id=%E9'),
    await post('{"client_id":"x"}', { 'content-type': 'application/json' }),
    await post(`client_id=${'x'.repeat(70_000)}`),
  ]) {
    assert.is(answer.statusCode >= 400 && answer.statusCode < 500, true, String(answer.statusCode))
    assert.match(answer.headers['content-type'] as string, 'text/html')
    assert.is(answer.headers['cache-control'], 'no-store')
  }
  const put = await server.inject({ method: 'PUT', url: '/oauth/authorize' })
  assert.is(put.statusCode, 405)
})

test('pages of other origins may not read the answers, and the header Host has no say', async () => {
  const asked = askFor(app, 'openid')
  const answer = await get(asked.url, {
    origin: 'https://app.example.org',
    host: 'evil.test',
    'x-forwarded-host': 'evil.test',
  })
  assert.is(answer.headers['access-control-allow-origin'], undefined)
  assert.match(answer.headers.location as string, /^https:\/\/fhir\.example\.org\/r4\//)
  const token = await server.inject({
    ...{ method: 'OPTIONS', url: '/oauth/token' },
    headers: { origin: 'https://app.example.org', 'access-control-request-method': 'POST' },
  })
  assert.is(token.statusCode, 204)
  assert.is(token.headers['access-control-allow-origin'], 'https://app.example.org')
  const evil = await server.inject({
    method: 'POST',
    url: '/oauth/token',
    headers: { origin: 'https://app.example.org.evil.test' },
  })
  assert.is(evil.headers['access-control-allow-origin'], undefined)
})

/** As many scopes, each with conditions of its own. */
const conditioned = (scopes: number, conditions: number): string =>
  Array.from({ length: scopes }, (_, scope) => {
    const query = Array.from({ length: conditions }, (_, condition) => `_tag=${scope}x${condition}`).join('&')
    return `patient/*.rs?${query}`
  }).join(' ')

test('fifty conditions may be asked for in all, and a condition on every type is checked once', async () => {
  assert.is(await asking({}, `launch/patient ${conditioned(25, 2)}`), 'pages')
  assert.is(await asking({}, `launch/patient ${conditioned(17, 3)}`), 'invalid_scope')
  // Anybody may ask so, without logging in: what fifty conditions of every type would cost is a second.
  const before = cpuTime()
  assert.is(await asking({}, `launch/patient ${conditioned(50, 1)}`), 'pages')
  assertQuick(cpuTime() - before, 400)
  assert.is(await asking({}, 'patient/*.rs?status=final'), 'invalid_scope')
})

test('a form that is too large is 413, and a page', async () => {
  const { parameters } = askFor(app, 'openid')
  const answer = await postForm(server, '/oauth/authorize', { ...parameters, more: 'x'.repeat(57 * 1024) })
  assert.is(answer.statusCode, 413)
  assert.match(answer.headers['content-type'] as string, 'text/html')
  assert.is(answer.headers.location, undefined)
})

test('more than 128 scopes are invalid_scope, with a description that says so', async () => {
  const errorOf = async (list: readonly string[]) => {
    const browser = createTestBrowser(server)
    const page = await browser.open(askFor(app, list.join(' ')).url)
    return page.hasLeft ? returned(page) : undefined
  }
  const many = Array.from({ length: 129 }, (_, n) => `unknown${n}`)
  const refused = await errorOf(['openid', ...many.slice(0, 128)])
  assert.is(refused?.get('error'), 'invalid_scope')
  assert.match(refused?.get('error_description') ?? '', /more than 128 scopes/)
  assert.is(await errorOf(['openid', ...many.slice(0, 127)]), undefined, '128 are taken')
})

test.run()
