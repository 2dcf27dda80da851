/** What a server with logins publishes and records: discovery, /metadata, introspection and the audit trail; and when it does not start. */
// database: sqlite, because what is published and recorded does not depend on the database; smart/code-flow.test.ts is on each kind
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import audit from '../../../plugins/audit/index.ts'
import {
  type App,
  askFor,
  clinicPlugins,
  codeOf,
  exchange,
  goThrough,
  loginClinic,
  refresh,
  registerApp,
  tokensOf,
} from '../../support/login-clinic.ts'
import { createManualClock, type ManualClock } from '../../support/manual-clock.ts'
import type { TestServer } from '../../support/server-with.ts'
import {
  askToken,
  assertionOf,
  BUILT_IN_BASIC,
  basicOf,
  ISSUER,
  postForm,
  registerService,
  smartServer,
} from '../../support/smart-server.ts'
import { createTestBrowser } from '../../support/test-browser.ts'

let server: TestServer
let app: App
let clock: ManualClock

test.before(async () => {
  clock = createManualClock()
  server = await loginClinic({ clock, plugins: [...clinicPlugins, audit], smart: { fhir_user: 'Practitioner/doc' } })
  app = await registerApp(server)
})
test.after(async () => server.stop())

test('discovery lists the login where somebody can log in, and the same everywhere', async () => {
  const url = '/.well-known/smart-configuration'
  const about = (await server.inject({ url, headers: { host: 'evil.test', accept: 'application/fhir+xml' } })).json()
  assert.is(about.issuer, ISSUER)
  assert.is(about.authorization_endpoint, `${ISSUER}/oauth/authorize`)
  assert.equal(about.response_types_supported, ['code'])
  assert.equal(about.code_challenge_methods_supported, ['S256'])
  assert.equal(about.grant_types_supported, ['authorization_code', 'refresh_token', 'client_credentials'])
  assert.is(about.authorization_response_iss_parameter_supported, true)
  assert.equal(about.id_token_signing_alg_values_supported, ['RS256'])
  assert.equal(about.token_endpoint_auth_signing_alg_values_supported, ['RS384', 'ES384'])
  assert.is(about.request_uri_parameter_supported, false)
  for (const one of ['launch-ehr', 'launch-standalone', 'authorize-post', 'sso-openid-connect', 'permission-online'])
    assert.is(about.capabilities.includes(one), true, one)
  for (const other of ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'])
    assert.equal((await server.inject(other)).json(), about)
  const security = (await server.inject('/metadata')).json().rest[0].security
  const uris = security.extension[0].extension.map((one: { url: string; valueUri: string }) => [one.url, one.valueUri])
  assert.equal(uris[0], ['authorize', `${ISSUER}/oauth/authorize`])
})

test('without a way to log in nothing of it is there', async () => {
  const bare = await smartServer()
  const about = (await bare.inject('/.well-known/smart-configuration')).json()
  assert.is(about.authorization_endpoint, undefined)
  assert.equal(about.grant_types_supported, ['client_credentials'])
  assert.is(JSON.stringify(about.scopes_supported).includes('patient/'), false)
  for (const url of ['/oauth/authorize', '/oauth/logout', '/oauth/interaction/x/login', '/oauth/callback'])
    assert.is((await bare.inject(url)).statusCode >= 400, true, url)
  const code = await postForm(bare, '/oauth/token', { grant_type: 'authorization_code', code: 'x' })
  assert.is(code.json().error, 'unsupported_grant_type')
  await bare.stop()
})

test('introspection answers with the person and context that the app has', async () => {
  const confidential = await registerApp(server, { token_endpoint_auth_method: 'client_secret_basic' })
  const ask = async (token: string, authorization = basicOf(confidential.id, confidential.secret as string)) =>
    (await postForm(server, '/oauth/introspect', { token }, { authorization })).json()
  const tokens = await tokensOf(server, confidential, 'openid fhirUser launch/patient launch/encounter patient/*.rs')
  const about = await ask(tokens.access_token)
  assert.is(about.active, true)
  assert.is(about.client_id, confidential.id)
  assert.is(about.patient, 'p1')
  assert.is(about.encounter, 'e1')
  assert.is(about.fhirUser, `${ISSUER}/Practitioner/doc`)
  assert.is(about.iss, ISSUER)
  const [, payload = ''] = (tokens.id_token as string).split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { sub: string; fhirUser: string }
  assert.is(about.sub, claims.sub)
  assert.is(claims.fhirUser, about.fhirUser)
  const silent = await ask((await tokensOf(server, confidential, 'launch/patient patient/*.rs')).access_token)
  assert.is(silent.sub, undefined)
  assert.is(silent.fhirUser, undefined)
  const foreign = await tokensOf(server, app, 'openid')
  assert.equal(await ask(foreign.access_token), { active: false })
  assert.is((await ask(foreign.access_token, BUILT_IN_BASIC)).active, true)
})

/** Operations of the trail, the newest first, with status and whoever they name. */
const events = async (query: string): Promise<readonly any[]> => {
  const service = await registerService(server, { scope: 'system/AuditEvent.read' })
  const assertion = await assertionOf(service, { now: clock.now() })
  const { access_token: token } = (await askToken(server, assertion, { scope: 'system/AuditEvent.read' })).json()
  const { body } = await server.inject({
    url: `/_audit?_count=200&${query}`,
    headers: { authorization: `Bearer ${token}` },
  })
  const bundle = JSON.parse(body) as { entry?: { resource: any }[] }
  return (bundle.entry ?? []).map(({ resource }) => resource)
}
const trail = async (): Promise<readonly string[]> =>
  (await events('')).map((resource) => {
    const who = resource.agent
      .map((one: any) => one.who?.reference ?? one.who?.identifier?.value ?? one.altId)
      .join('+')
    return `${resource.subtype?.map((one: any) => one.code).join(',')} ${resource.outcome} ${who}`
  })

test('the trail has each step of a login, and each code or refresh token that is used again', async () => {
  const browser = createTestBrowser(server)
  const asked = askFor(app, 'openid offline_access')
  const code = codeOf(await goThrough(browser, asked.url))
  const tokens = (await exchange(server, app, code, asked.verifier)).json()
  await refresh(server, app, tokens.refresh_token)
  await refresh(server, app, tokens.refresh_token)
  await exchange(server, app, code, asked.verifier)
  const consent = await browser.open(askFor(app, 'openid').url)
  await browser.submit(consent, { decision: 'deny' })
  await postForm(server, '/oauth/launch', { patient: 'p1' }, { authorization: BUILT_IN_BASIC })
  const ask = await browser.open('/oauth/logout')
  await browser.submit(ask, { csrf: /name="csrf" value="([^"]+)"/.exec(ask.body)?.[1] as string })
  const lines = await trail()
  for (const operation of [
    '110122',
    'consent',
    'token',
    'refresh',
    'refresh-reuse',
    'code-reuse',
    'denial',
    'logout',
    'launch',
  ])
    assert.is(
      lines.some((line) => line.startsWith(`${operation} `)),
      true,
      `${operation} in\n${lines.join('\n')}`,
    )
  const login = lines.find((line) => line.startsWith('110122 ')) as string
  assert.match(login, 'Practitioner/doc')
})

test('the events of a consent, its tokens and a launch are found by the patient', async () => {
  const tokens = await tokensOf(server, app, 'launch/patient offline_access patient/Observation.rs')
  await refresh(server, app, tokens.refresh_token as string)
  await postForm(server, '/oauth/launch', { patient: 'p1' }, { authorization: BUILT_IN_BASIC })
  const found = await events('patient=Patient/p1')
  for (const operation of ['consent', 'token', 'refresh', 'launch']) {
    const event = found.find(({ subtype }) => subtype?.[0].code === operation)
    assert.ok(event, operation)
  }
})

test('the events of a consent and its tokens have the granted scopes, without the values of their conditions', async () => {
  const scope = 'launch/patient patient/Condition.rs patient/Observation.rs?code=secret-value'
  const browser = createTestBrowser(server)
  await tokensOf(server, app, `${scope} nonsense`, {}, browser)
  const asked = askFor(app, 'openid patient/Condition.rs launch/patient')
  const patient = await browser.open(asked.url)
  const consent = await browser.submit(patient, { patient: 'p1' })
  await browser.submit(consent, { decision: 'allow', scope: ['openid'] })
  const found = await events('')
  const scopesOf = (code: string): readonly string[] =>
    found
      .filter(({ subtype }) => subtype?.[0].code === code)
      .map(({ entity }) =>
        entity
          .flatMap((one: any) => one.detail ?? [])
          .filter((one: any) => one.type === 'scope')
          .map((one: any) => one.valueString)
          .join(' '),
      )
  const shown = 'launch/patient patient/Condition.rs patient/Observation.rs?'
  assert.ok(scopesOf('consent').includes(shown), scopesOf('consent').join('\n'))
  assert.ok(scopesOf('token').includes(shown))
  assert.ok(scopesOf('consent').includes('openid'), 'what was refused is not there')
  assert.not.match(JSON.stringify(found), 'secret-value')
})

test('a demo login on an address that others reach has to be allowed', async () => {
  const start = (more: object) =>
    smartServer({
      settings: {
        server: { bind: '0.0.0.0:0', public_url: ISSUER },
        smart: {
          enabled: true,
          demo_login: true,
          dcr_token: 'x'.repeat(40),
          confidential_secret: 'y'.repeat(40),
          ...more,
        },
      },
    })
  try {
    await start({})
    assert.unreachable('it started')
  } catch (error) {
    assert.match((error as Error).message, 'SERVER_ALLOW_REMOTE_DEMO_LOGIN')
  }
  const allowed = await start({ allow_remote_demo_login: true })
  await allowed.stop()
})

test.run()
