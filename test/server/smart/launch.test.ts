/** Launch context: what an EHR, the settings, the person's own record or a choice make of it, and whom it is refused to. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  type App,
  askFor,
  bearing,
  codeOf,
  exchange,
  goThrough,
  loginClinic,
  registerApp,
  removeRecord,
  returned,
  store,
  type Tokens,
  tokensOf,
} from '../../support/login-clinic.ts'
import { createManualClock, type ManualClock } from '../../support/manual-clock.ts'
import type { TestServer } from '../../support/server-with.ts'
import {
  ASSERTION_TYPE,
  assertionOf,
  BUILT_IN_BASIC,
  type Parameters,
  postForm,
  registerService,
} from '../../support/smart-server.ts'
import { createTestBrowser } from '../../support/test-browser.ts'

let server: TestServer
let app: App
let clock: ManualClock

test.before(async () => {
  clock = createManualClock()
  server = await loginClinic({ clock })
  app = await registerApp(server)
})
test.after(async () => server.stop())

const launching = async (form: Parameters, on = server) => {
  const answer = await postForm(on, '/oauth/launch', form, { authorization: BUILT_IN_BASIC })
  assert.is(answer.statusCode, 201, answer.body)
  return (answer.json() as { launch: string }).launch
}
const errorOf = async (on: TestServer, one: App, scope: string, more = {}): Promise<string | null> =>
  returned(await goThrough(createTestBrowser(on), askFor(one, scope, more).url)).get('error')

test('an EHR launches an app with a patient, an encounter and more, and nobody is asked to choose', async () => {
  const fhirContext = [{ reference: 'Observation/o1' }, { reference: 'Patient/p2', role: 'mother' }]
  const launch = await launching({
    ...{ app: app.id, patient: 'p1', encounter: 'e1' },
    fhirContext: JSON.stringify(fhirContext),
  })
  const browser = createTestBrowser(server)
  const login = await browser.open(askFor(app, 'launch openid patient/*.rs', { launch }).url)
  assert.match((await browser.submit(login, { username: 'x' })).url, /\/consent$/)
  const other = await launching({ patient: 'p1', encounter: 'e1', fhirContext: JSON.stringify(fhirContext) })
  const tokens = await tokensOf(server, app, 'launch patient/*.rs', { launch: other })
  assert.is(tokens.patient, 'p1')
  assert.is(tokens.encounter, 'e1')
  assert.equal(tokens.fhirContext, fhirContext)
  assert.is((await server.inject({ url: '/Encounter/e1', headers: bearing(tokens.access_token) })).statusCode, 200)
  assert.is((await server.inject({ url: '/Encounter/e2', headers: bearing(tokens.access_token) })).statusCode, 404)
})

test('a launch value works once, for its app, for five minutes', async () => {
  const start = async (launch: string | undefined, one = app) =>
    errorOf(server, one, 'launch openid', launch === undefined ? {} : { launch })
  assert.is(await start(undefined), 'invalid_request')
  assert.is(await start('unknown'), 'invalid_request')
  const other = await registerApp(server)
  const launch = await launching({ app: app.id, patient: 'p1' })
  assert.is(await start(launch, other), 'invalid_request')
  assert.is(await start(launch), null, 'the attempt of another app does not use it up')
  assert.is(await start(launch), 'invalid_request')
  const late = await launching({ patient: 'p1' })
  await clock.leap(300_000)
  assert.is(await start(late), 'invalid_request')
  const ignored = await launching({ patient: 'p2' })
  const tokens = await tokensOf(server, app, 'launch/patient openid', { launch: ignored })
  assert.is(tokens.patient, 'p1', 'without the scope launch the value has no say')
})

test('only a client that proves itself launches, and only what its system scopes let it read', async () => {
  const ask = (form: Parameters, headers = {}) => postForm(server, '/oauth/launch', form, headers)
  assert.is((await ask({ patient: 'p1' })).statusCode, 401)
  assert.is((await ask({ patient: 'p1', client_id: app.id })).json().error, 'invalid_client')
  const confidential = await registerApp(server, { token_endpoint_auth_method: 'client_secret_basic' })
  const basic = `Basic ${Buffer.from(`${confidential.id}:${confidential.secret}`).toString('base64')}`
  assert.is((await ask({ patient: 'p1' }, { authorization: basic })).json().error, 'unauthorized_client')
  const as = async (scope: string, form: Parameters) => {
    const service = await registerService(server, { scope })
    const client_assertion = await assertionOf(service, { now: clock.now() })
    return (await ask({ ...form, client_assertion, client_assertion_type: ASSERTION_TYPE })).statusCode
  }
  assert.is(await as('system/Patient.r', { patient: 'p1' }), 201)
  assert.is(await as('system/Patient.r', { patient: 'p1', encounter: 'e1' }), 400)
  assert.is(await as('system/Patient.rs system/Encounter.read', { patient: 'p1', encounter: 'e1' }), 201)
  assert.is(await as('system/Observation.rs', { patient: 'p1' }), 400)
  assert.is(await as('system/Patient.r?gender=female', { patient: 'p2' }), 400)
})

test('what is launched exists and fits together', async () => {
  const statusOf = async (form: Parameters) =>
    (await postForm(server, '/oauth/launch', form, { authorization: BUILT_IN_BASIC })).statusCode
  const context = (items: unknown) => ({ patient: 'p1', fhirContext: JSON.stringify(items) })
  assert.is(await statusOf({}), 201)
  for (const wrong of [
    { patient: 'nobody' },
    { patient: '../Patient/p1' },
    { encounter: 'e1' },
    { patient: 'p1', encounter: 'e2' },
    { patient: 'p1', app: 'unknown' },
    { patient: 'p1', fhirContext: '{' },
    context({}),
    context([{}]),
    context([{ reference: 'Patient/p2' }]),
    context([{ reference: 'Encounter/e1', role: 'launch' }]),
    context([{ reference: 'https://other.example.org/Task/1' }]),
    context([{ reference: 'Task/1', role: '' }]),
    context([{ identifier: 'x' }]),
  ])
    assert.is(await statusOf(wrong), 400, JSON.stringify(wrong))
  assert.is(
    await statusOf(context([{ canonical: 'http://example.org/Questionnaire/1' }, { identifier: { value: '1' } }])),
    201,
  )
})

test('the chosen patient and encounter are in the answer', async () => {
  const both = await tokensOf(server, app, 'launch/patient launch/encounter openid')
  assert.is(both.patient, 'p1')
  assert.is(both.encounter, 'e1')
  const none = await tokensOf(server, app, 'openid user/*.rs')
  assert.is(none.patient, undefined)
  const implied = await tokensOf(server, app, 'patient/Observation.rs')
  assert.is(implied.patient, 'p1', 'patient scopes need a patient, so one is chosen')
})

test('a patient without encounters is launched without one', async () => {
  await store(server, [{ resourceType: 'Patient', id: 'new' }])
  const page = await goThrough(createTestBrowser(server), askFor(app, 'launch/patient launch/encounter').url, {
    patient: 'new',
  })
  assert.is(returned(page).get('error'), null)
  await removeRecord(server, 'Patient', 'new')
})

/** A server whose demo login makes everybody this FHIR user. */
const asUser = async (fhir_user: string | undefined, work: (own: TestServer, one: App) => Promise<void>, more = {}) => {
  const own = await loginClinic({ smart: { ...(fhir_user !== undefined && { fhir_user }), ...more } })
  try {
    await work(own, await registerApp(own))
  } finally {
    await own.stop()
  }
}
const afterLogin = async (own: TestServer, one: App, scope: string, more = {}) => {
  const browser = createTestBrowser(own)
  const page = await browser.open(askFor(one, scope, more).url)
  return browser.submit(page, { username: 'x' })
}
const status = async (own: TestServer, { access_token: token }: Tokens, url: string) =>
  (await own.inject({ url, headers: bearing(token) })).statusCode

test('a Patient works with the own record alone, unasked', async () => {
  await asUser('Patient/p1', async (own, one) => {
    assert.match((await afterLogin(own, one, 'launch/patient patient/*.rs')).url, /\/consent$/)
    const tokens = await tokensOf(own, one, 'launch/patient patient/*.rs user/*.rs openid fhirUser')
    assert.is(tokens.patient, 'p1')
    assert.is(await status(own, tokens, '/Patient/p1'), 200)
    assert.is(await status(own, tokens, '/Patient/p2'), 404)
    const launch = await launching({ patient: 'p2' }, own)
    assert.is(await errorOf(own, one, 'launch patient/*.rs', { launch }), 'access_denied')
    const allowed = await launching({ patient: 'p1' }, own)
    assert.is(await errorOf(own, one, 'launch patient/*.rs', { launch: allowed }), null)
  })
})

test('a RelatedPerson works with the patient whom they belong to, as long as they do', async () => {
  await asUser('RelatedPerson/mother', async (own, one) => {
    const tokens = await tokensOf(own, one, 'launch/patient patient/*.rs user/*.rs offline_access')
    assert.is(tokens.patient, 'p1')
    assert.is(await status(own, tokens, '/Observation/o1'), 200)
    assert.is(await status(own, tokens, '/Observation/o2'), 404)
    const launch = await launching({ patient: 'p2' }, own)
    assert.is(await errorOf(own, one, 'launch patient/*.rs', { launch }), 'access_denied')
    await store(own, [
      { resourceType: 'RelatedPerson', id: 'mother', active: false, patient: { reference: 'Patient/p1' } },
    ])
    assert.is(await errorOf(own, one, 'launch/patient patient/*.rs'), 'access_denied')
  })
})

test('a Practitioner chooses among all patients, and may read who they are themselves', async () => {
  await asUser('Practitioner/doc', async (own, one) => {
    assert.match((await afterLogin(own, one, 'launch/patient patient/*.rs')).url, /\/patient$/)
    const tokens = await tokensOf(own, one, 'openid fhirUser launch/patient patient/Observation.rs')
    assert.is(await status(own, tokens, '/Practitioner/doc'), 200, 'the resource that fhirUser names')
    assert.is(await status(own, tokens, '/Observation/o1'), 200)
    assert.is(await status(own, tokens, '/Patient/p1'), 403)
    await store(own, [{ resourceType: 'Practitioner', id: 'other' }])
    assert.is(await status(own, tokens, '/Practitioner/other'), 404)
    const silent = await tokensOf(own, one, 'openid launch/patient patient/Observation.rs')
    assert.is(await status(own, silent, '/Practitioner/doc'), 403)
  })
})

test('a Person of whom the server knows no patient gets none', async () => {
  await asUser('Person/x', async (own, one) => {
    assert.is(await errorOf(own, one, 'launch/patient patient/*.rs'), 'access_denied')
  })
})

test('a FHIR user that does not exist logs nobody in', async () => {
  await asUser('Practitioner/gone', async (own, one) => {
    const page = await afterLogin(own, one, 'openid')
    assert.is(returned(page).get('error'), 'access_denied')
    assert.equal(
      [page.headers['set-cookie']].flat().filter((line) => /session=[\w-]/.test(String(line))),
      [],
    )
  })
})

test('patient and encounter of the settings are taken without asking', async () => {
  await asUser(
    'Practitioner/doc',
    async (own, one) => {
      assert.match((await afterLogin(own, one, 'launch/patient launch/encounter')).url, /\/consent$/)
      const tokens = await tokensOf(own, one, 'launch/patient launch/encounter')
      assert.is(tokens.patient, 'p2')
      assert.is(tokens.encounter, 'e2')
      const launch = await launching({ patient: 'p1' }, own)
      assert.is((await tokensOf(own, one, 'launch', { launch })).patient, 'p1', 'what the EHR launches comes first')
    },
    { patient: 'p2', encounter: 'e2' },
  )
})

test('every scope that is advertised is granted when it is asked for alone', async () => {
  const { scopes_supported: scopes } = (await server.inject('/.well-known/smart-configuration')).json() as {
    scopes_supported: string[]
  }
  const browser = createTestBrowser(server)
  for (const scope of scopes.filter((one) => !one.startsWith('system/'))) {
    const more = scope === 'launch' ? { launch: await launching({ patient: 'p1' }) } : {}
    const asked = askFor(app, scope, more)
    const answer = await exchange(server, app, codeOf(await goThrough(browser, asked.url)), asked.verifier)
    assert.is(answer.json().scope, scope)
  }
})

test('text that is no scope is left out of the answer', async () => {
  const tokens = await tokensOf(
    server,
    app,
    'openid nonsense patient/Observation.rs patient/*.sr system/*.rs launch/patient',
  )
  assert.is(tokens.scope, 'openid patient/Observation.rs launch/patient')
})

test.run()
