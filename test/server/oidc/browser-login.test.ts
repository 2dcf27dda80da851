/** A person who logs in at a provider, from an app and back to it. */
// database: sqlite and postgres, which keep the state of a login
import type { ServerResponse } from 'node:http'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import oidc from '../../../plugins/oidc/index.ts'
import {
  CLIENT_ID,
  CLIENT_SECRET,
  type FakeProvider,
  type Switches,
  startFakeProvider,
} from '../../support/fake-provider.ts'
import {
  type App,
  askFor,
  clinicPlugins,
  exchange,
  loginClinic,
  registerApp,
  returned,
} from '../../support/login-clinic.ts'
import { CALLBACK } from '../../support/provider-login.ts'
import { startReferenceProvider } from '../../support/reference-provider.ts'
import type { TestServer } from '../../support/server-with.ts'
import { ISSUER } from '../../support/smart-server.ts'
import { type BrowserPage, createTestBrowser, type TestBrowser } from '../../support/test-browser.ts'

let provider: FakeProvider
let server: TestServer
let app: App

const clinicAt = (issuer: string, own: object = {}): Promise<TestServer> =>
  loginClinic({
    plugins: [oidc, ...clinicPlugins],
    smart: { demo_login: false, oidc: { issuer, client_id: CLIENT_ID, client_secret: CLIENT_SECRET, ...own } },
  })

test.before(async () => {
  provider = await startFakeProvider()
  server = await clinicAt(provider.issuer)
  app = await registerApp(server)
})
test.before.each(() => provider.behave())
test.after(async () => {
  await server.stop()
  await provider.stop()
})

const SCOPE = 'openid fhirUser launch/patient user/*.rs patient/*.rs'
const SESSION = '__Host-smart-session'

interface Visit {
  readonly browser: TestBrowser
  readonly asked: ReturnType<typeof askFor>
  /** The URL by which the provider sends the browser back. */
  readonly back: string
}

/** As far as the provider's answer. */
const atProvider = async (
  { on = server, of = app, visit = provider.visit }: { on?: TestServer; of?: App; visit?: FakeProvider['visit'] } = {},
  browser = createTestBrowser(on),
): Promise<Visit> => {
  const asked = askFor(of, SCOPE)
  const page = await browser.open(asked.url)
  const left = await browser.submit(page, { provider: '1' })
  assert.ok(left.hasLeft, left.body)
  return { browser, asked, back: await visit(left.url) }
}

const withSwitches = async (switches: Switches): Promise<Visit & { page: BrowserPage }> => {
  provider.behave(switches)
  const visit = await atProvider()
  return { ...visit, page: await visit.browser.open(visit.back) }
}

test('a person logs in at the provider, and the app learns who it is', async () => {
  provider.behave({ claims: { fhirUser: 'Practitioner/doc' } })
  const { browser, asked, back } = await atProvider()
  assert.ok(back.startsWith(`${CALLBACK}?`))
  let page = await browser.open(back)
  assert.match(page.url, /\/patient$/)
  page = await browser.submit(page, { patient: 'p1' })
  page = await browser.submit(page, { decision: 'allow' })
  const code = returned(page).get('code') as string
  const answer = (await exchange(server, app, code, asked.verifier)).json() as Record<string, string>
  assert.is(answer.patient, 'p1')
  const claims = JSON.parse(Buffer.from(answer.id_token?.split('.')[1] as string, 'base64url').toString())
  assert.is(claims.fhirUser, `${ISSUER}/Practitioner/doc`)
})

test('a refused login goes to the app as access_denied, without a code and without a session', async () => {
  const cases: Readonly<Record<string, Switches>> = {
    'iss wrong': { claims: { iss: 'https://other.example.org' } },
    'sub empty': { claims: { sub: '' } },
    'aud other': { claims: { aud: 'other' } },
    'nonce wrong': { claims: { nonce: 'x' } },
    'alg none': { sign: 'none' },
    'callback of another issuer': { callback: (params) => params.set('iss', 'https://other.example.org') },
    'FHIR user missing': { claims: { fhirUser: 'Practitioner/missing' } },
    cancelled: { error: 'access_denied' },
  }
  for (const [about, switches] of Object.entries(cases)) {
    const { asked, browser, page } = await withSwitches(switches)
    const back = returned(page)
    assert.equal([back.get('error'), back.get('state'), back.get('iss')], ['access_denied', asked.state, ISSUER], about)
    assert.not.ok(back.has('code'), about)
    assert.not.ok(browser.cookies.has(SESSION), about)
  }
})

test('a provider that fails goes to the app as temporarily_unavailable', async () => {
  const failing = (_request: unknown, response: ServerResponse): void => void response.writeHead(500).end()
  for (const path of ['/token', '/jwks']) {
    const { asked, page } = await withSwitches({ answers: { [path]: failing } })
    const back = returned(page)
    assert.equal([back.get('error'), back.get('state')], ['temporarily_unavailable', asked.state], path)
  }
})

test('a callback without the state of this browser is a page, and sends no code to the provider', async () => {
  const changed = async (change: (params: URLSearchParams) => void): Promise<BrowserPage> => {
    const { browser, back } = await atProvider()
    const url = new URL(back)
    change(url.searchParams)
    return browser.open(url.href)
  }
  const stranger = async (): Promise<BrowserPage> => {
    const { back } = await atProvider()
    return createTestBrowser(server).open(back)
  }
  /** Login CSRF: the attacker's own answer, opened in the browser of a person who is logging in. */
  const planted = async (): Promise<BrowserPage> => {
    const attacker = await atProvider()
    const { browser } = await atProvider()
    return browser.open(attacker.back)
  }
  const pages = [
    await changed((params) => params.delete('state')),
    await changed((params) => params.set('state', `${params.get('state')}x`)),
    await changed((params) => params.append('state', params.get('state') as string)),
    await stranger(),
    await planted(),
  ]
  assert.equal(
    pages.map(({ status, hasLeft }) => [status, hasLeft]),
    pages.map(() => [400, false]),
  )
  assert.not.ok(provider.asked.some(({ path }) => path === '/token'))
})

test('a callback is used once', async () => {
  provider.behave({ claims: { fhirUser: 'Practitioner/doc' } })
  const { browser, back } = await atProvider()
  assert.is((await browser.open(back)).status, 200)
  const again = await browser.open(back)
  assert.equal([again.status, again.hasLeft], [400, false])
  assert.is(provider.asked.filter(({ path }) => path === '/token').length, 1)
})

test('patient_from_fhir_user lets a patient skip the picker, and a practitioner not', async () => {
  const own = await clinicAt(provider.issuer, { patient_from_fhir_user: true })
  const of = await registerApp(own)
  const pageFor = async (fhirUser: string): Promise<BrowserPage> => {
    provider.behave({ claims: { fhirUser } })
    const { browser, back } = await atProvider({ on: own, of })
    return browser.open(back)
  }
  assert.match((await pageFor('Patient/p1')).url, /\/consent$/)
  assert.match((await pageFor('Practitioner/doc')).url, /\/patient$/)
  await own.stop()
  provider.behave({ claims: { fhirUser: 'Patient/p1' } })
  const { browser, back } = await atProvider()
  assert.match((await browser.open(back)).url, /\/patient$/, 'off by default')
})

test('people log in at oidc-provider', async () => {
  const client = { client_id: CLIENT_ID, client_secret: CLIENT_SECRET, redirect_uris: [CALLBACK] }
  const real = await startReferenceProvider([client], { fhirUser: 'Practitioner/doc' })
  const own = await clinicAt(real.issuer)
  const of = await registerApp(own)
  const { browser, asked, back } = await atProvider({ on: own, of, visit: real.visit })
  assert.match(back, /[?&]iss=/)
  let page = await browser.open(back)
  assert.match(page.url, /\/patient$/, page.url)
  page = await browser.submit(page, { patient: 'p1' })
  page = await browser.submit(page, { decision: 'allow' })
  const answer = await exchange(own, of, returned(page).get('code') as string, asked.verifier)
  assert.is(answer.statusCode, 200, answer.body)
  await own.stop()
  await real.stop()
})

test.run()
