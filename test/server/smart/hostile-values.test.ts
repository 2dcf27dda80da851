/** Values that no database row or URL can hold are refused like unknown ones, whoever sends them; and an internal error of an OAuth endpoint is one of OAuth. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin } from '../../../kernel/index.ts'
import {
  type App,
  askFor,
  clinicPlugins,
  goThrough,
  loginClinic,
  registerApp,
  returned,
} from '../../support/login-clinic.ts'
import type { TestServer } from '../../support/server-with.ts'
import {
  ASSERTION_TYPE,
  askToken,
  assertionOf,
  BUILT_IN_BASIC,
  postForm,
  register,
  registerService,
  signingKey,
} from '../../support/smart-server.ts'
import { createTestBrowser } from '../../support/test-browser.ts'

const NUL = '\0'

/** Fails with an error that no plugin expects, where the request asks for it. */
const failing = definePlugin({
  name: 'failing',
  setup({ hooks }) {
    hooks.onAudit.tap('fail', ({ request }) => {
      if (request.headers['x-fail'] !== undefined) throw new Error('secret detail of the failure')
    })
  },
})

let server: TestServer
let app: App
test.before(async () => {
  server = await loginClinic({ plugins: [...clinicPlugins, failing] })
  app = await registerApp(server)
})
test.after(async () => server.stop())

const get = (url: string) => server.inject({ url })

test('a NUL character is no part of a client, an app or any other parameter of a form', async () => {
  const basic = `Basic ${Buffer.from('a%00:secret').toString('base64')}`
  for (const path of ['/oauth/token', '/oauth/introspect', '/oauth/revoke', '/oauth/launch']) {
    for (const grant of ['client_credentials', 'authorization_code', 'refresh_token']) {
      const form = { grant_type: grant, client_id: `a${NUL}`, code: 'x', refresh_token: 'x', token: 'x' }
      const byForm = await postForm(server, path, form)
      assert.ok([400, 401].includes(byForm.statusCode), `${path} ${grant}: ${byForm.statusCode}`)
      assert.type(byForm.json().error, 'string', path)
      const byBasic = await postForm(server, path, { grant_type: grant, token: 'x' }, { authorization: basic })
      assert.is(byBasic.statusCode, 401, `${path} ${grant}`)
      assert.is(byBasic.json().error, 'invalid_client')
    }
    for (const name of ['app', 'scope', 'code', 'token', 'refresh_token', 'patient', 'fhirContext', 'grant_type']) {
      const form = { grant_type: 'refresh_token', token: 'x', refresh_token: 'x', [name]: `a${NUL}b` }
      const answer = await postForm(server, path, form, { authorization: BUILT_IN_BASIC })
      assert.ok([200, 400, 401].includes(answer.statusCode), `${path} ${name}: ${answer.statusCode}`)
    }
  }
  const launch = await postForm(server, '/oauth/launch', { app: `a${NUL}` }, { authorization: BUILT_IN_BASIC })
  assert.is(launch.statusCode, 400)
  assert.is(launch.json().error, 'invalid_request')
})

test('an assertion of a client whose name holds NUL or half a character is refused', async () => {
  const key = await signingKey()
  for (const id of [`a${NUL}`, 'a\ud800', '\udfff'])
    assert.is((await askToken(server, await assertionOf({ id, key }))).statusCode, 401, JSON.stringify(id))
})

test('control characters in an authorization request are refused before a login begins', async () => {
  for (const more of [{ client_id: `${app.id}${NUL}` }, { redirect_uri: `${app.redirectUri}${NUL}` }])
    assert.is((await get(askFor(app, 'openid', more).url)).statusCode, 400, JSON.stringify(more))
  for (const name of ['nonce', 'state', 'launch', 'prompt', 'login_hint', 'aud', 'x'])
    for (const character of name === 'nonce' || name === 'state' ? [NUL, '\n', '\u007f', '\u0085'] : [NUL]) {
      const { headers, statusCode } = await get(askFor(app, 'openid', { [name]: `a${character}b` }).url)
      assert.is(statusCode, 303, name)
      const back = new URL(headers.location as string).searchParams
      assert.is(back.get('error'), 'invalid_request', name)
      assert.ok(!(back.get('state') ?? '').includes(character))
    }
  const { headers } = await get(askFor(app, `openid patient/*.rs${NUL}`).url)
  assert.match(headers.location as string, 'error=invalid_')
})

test('control characters in the forms of a login are refused, and the login goes on', async () => {
  const browser = createTestBrowser(server)
  const login = await browser.open(askFor(app, 'openid launch/patient patient/*.rs').url)
  assert.is((await browser.submit(login, { username: `a${NUL}b` })).status, 400)
  const patient = await browser.submit(login, { username: 'a' })
  assert.is((await browser.open(`${patient.url}?q=a%00`)).status, 400)
  assert.is((await browser.submit(patient, { patient: `p1${NUL}` })).status, 400)
  const consent = await browser.submit(patient, { patient: 'p1' })
  assert.is((await browser.submit(consent, { decision: 'allow', scope: `openid${NUL}` })).status, 400)
  assert.is(returned(await browser.submit(consent, { decision: 'allow' })).get('error'), null)
  for (const path of ['/oauth/callback?state=%00', '/oauth/interaction/%00', '/oauth/interaction/x/%00'])
    assert.ok((await get(path)).statusCode < 500, path)
})

test('a native app that chooses its port gets a port that exists, or nothing', async () => {
  const native = await registerApp(server, { application_type: 'native', redirect_uris: ['http://127.0.0.1/cb'] })
  for (const port of ['0', '00080', '080', '65536', '99999', '']) {
    const answer = await get(askFor(native, 'openid', { redirect_uri: `http://127.0.0.1:${port}/cb` }).url)
    assert.is(answer.statusCode, 400, port)
    assert.match(answer.body, 'not its own', port)
  }
  for (const port of ['1', '80', '65535']) {
    const { url } = askFor(native, 'openid', { redirect_uri: `http://127.0.0.1:${port}/cb` })
    const left = await goThrough(createTestBrowser(server), url)
    assert.ok(left.url.startsWith(`http://127.0.0.1:${port}/cb?code=`), left.url)
  }
})

test('addresses without a host, or with a port that does not exist, are not registered', async () => {
  const bad = [
    ...[
      'https:a.example',
      'https:a.example/cb',
      'https:///cb',
      'https:/x',
      'https:\\\\a.example\\cb',
      'http:127.0.0.1',
    ],
    ...[
      'https://a.example\\@b.example/',
      'http://127.0.0.1:0/cb',
      'http://127.0.0.1:080/cb',
      'http://127.0.0.1:65536/',
    ],
    'https://a.example:/cb',
    ...['code', 'state', 'iss', 'error', '%63ode'].map((name) => `https://a.example/cb?x=1&${name}=y`),
  ]
  for (const uri of bad)
    for (const type of ['web', 'native']) {
      const metadata = { redirect_uris: [uri], application_type: type, token_endpoint_auth_method: 'none' }
      const answer = await register(server, metadata)
      assert.is(answer.statusCode, 400, `${type} ${uri}`)
      assert.is(answer.json().error, 'invalid_redirect_uri')
    }
  const good = { redirect_uris: ['https://a.example/cb'], token_endpoint_auth_method: 'none' }
  for (const link of ['https:a.example', 'https:/x', 'https:///x'])
    for (const member of ['client_uri', 'logo_uri', 'jwks_uri']) {
      const answer = await register(server, { ...good, [member]: link })
      assert.is(answer.statusCode, 400, `${member} ${link}`)
      assert.is(answer.json().error, 'invalid_client_metadata')
    }
})

test('a key that is none is not registered', async () => {
  const { jwk } = await signingKey()
  const rsa = (await signingKey('RS384')).jwk
  const keys = [
    { ...jwk, y: jwk.x },
    { ...jwk, x: undefined },
    { ...jwk, x: 'AAAA' },
    { ...jwk, crv: 'P-256' },
    { ...rsa, n: undefined },
    { ...rsa, n: (rsa.n as string).slice(0, 100) },
  ]
  for (const key of keys) {
    const answer = await register(server, {
      ...{ token_endpoint_auth_method: 'private_key_jwt', grant_types: ['client_credentials'] },
      jwks: { keys: [{ ...key, kid: 'k' }] },
    })
    assert.is(answer.statusCode, 400, JSON.stringify(key))
    assert.is(answer.json().error, 'invalid_client_metadata')
  }
})

test('an assertion is three parts in base64url, and nothing around them', async () => {
  const service = await registerService(server, {})
  for (const change of [
    (one: string) => `${one}\n`,
    (one: string) => `${one} `,
    (one: string) => ` ${one}`,
    (one: string) => `${one}=`,
    (one: string) => one.replace('.', '.\n'),
    (one: string) => `${one}.`,
  ])
    assert.is((await askToken(server, change(await assertionOf(service)))).statusCode, 401, String(change))
  assert.is((await askToken(server, await assertionOf(service))).statusCode, 200)
})

test('an internal error of an OAuth endpoint is server_error, with nothing of its cause', async () => {
  const service = await registerService(server, {})
  const proof = { client_assertion_type: ASSERTION_TYPE, client_assertion: await assertionOf(service) }
  for (const [path, form] of [
    ['/oauth/token', { ...proof, grant_type: 'client_credentials', scope: 'system/*.rs' }],
    ['/oauth/revoke', { token: 'x' }],
    ['/oauth/introspect', {}],
    ['/oauth/launch', {}],
  ] as const) {
    const answer = await postForm(server, path, form, { 'x-fail': '1' })
    assert.is(answer.statusCode, 500, path)
    assert.is(answer.headers['content-type'], 'application/json; charset=utf-8')
    assert.is(answer.headers['cache-control'], 'no-store')
    assert.is(answer.json().error, 'server_error')
    assert.not.match(answer.body, 'secret detail')
  }
  const logged = server.lines.filter((line) => JSON.stringify(line).includes('secret detail of the failure'))
  assert.ok(logged.length >= 4, 'each failure is in the log')
})

test.run()
