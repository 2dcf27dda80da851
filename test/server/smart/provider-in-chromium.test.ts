/** A login at a provider on another site, in a browser: its cookies and policies let the person go there and back. */
// database: sqlite, what a browser lets pass does not depend on the database
import type { ServerResponse } from 'node:http'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import oidc from '../../../plugins/oidc/index.ts'
import { type Chromium, startChromium } from '../../support/chromium.ts'
import { chromiumMissing } from '../../support/chromium-installation.ts'
import { CLIENT_ID, CLIENT_SECRET, type FakeProvider, startFakeProvider } from '../../support/fake-provider.ts'
import { type App, askFor, clinicPlugins, loginClinic, REDIRECT, registerApp } from '../../support/login-clinic.ts'
import type { TestServer } from '../../support/server-with.ts'
import { until } from '../../support/until.ts'

const HTML = { 'content-type': 'text/html; charset=utf-8' }

let chromium: Chromium
let provider: FakeProvider
let server: TestServer
let address: string
let app: App

if (chromiumMissing !== undefined) {
  test(`nothing was tried in a browser: ${chromiumMissing}`, () => {})
} else {
  /** For a browser `localhost` is another site than 127.0.0.1. */
  const elsewhere = (): string => provider.issuer.replace('127.0.0.1', 'localhost')

  /** `answer` is given the address that logs the person in. */
  const behave = (answer: (response: ServerResponse, next: string) => void): void =>
    provider.behave({
      claims: { fhirUser: 'Practitioner/doc' },
      metadata: { authorization_endpoint: `${elsewhere()}/login` },
      answers: {
        '/login': ({ url = '' }, response) => answer(response, `/authorize${new URL(url, provider.issuer).search}`),
      },
    })

  test.before(async () => {
    chromium = await startChromium()
    provider = await startFakeProvider()
    behave((response) => response.end()) // the server reads the metadata when it starts
    server = await loginClinic({
      plugins: [oidc, ...clinicPlugins],
      settings: { server: { bind: '127.0.0.1:0' }, conformance: { update_as_create: true } },
      smart: {
        demo_login: false,
        oidc: { issuer: provider.issuer, client_id: CLIENT_ID, client_secret: CLIENT_SECRET },
      },
    })
    address = await server.listen()
    app = await registerApp(server)
  })
  test.after(async () => {
    await chromium.close()
    await server.stop()
    await provider.stop()
  })

  const goThrough = async (atProvider: boolean) => {
    const { page, complaints, close } = await chromium.open()
    await page.goto(`${address}${askFor(app, 'launch/patient patient/*.rs', { aud: address }).url}`)
    const click = (selector: string) => Promise.all([page.waitForNavigation(), page.click(selector)])
    await click('form button')
    if (atProvider) {
      assert.is(new URL(page.url()).origin, elsewhere())
      await click('a')
    }
    assert.match(page.url(), /\/patient$/)
    await click('button[value=p1]')
    assert.match(await page.$eval('.facts', (facts) => facts.textContent ?? ''), 'Ann Example')
    // Nobody answers at the address of the app: what counts is that the browser goes there.
    const left: string[] = []
    page.on('requestfailed', (request) => left.push(request.url()))
    await page.click('button[value=allow]')
    await until(() => left.length > 0, 5000, 'the redirect')
    await close()
    return { left, complaints: complaints.filter((one) => !one.includes('ERR_NAME_NOT_RESOLVED')) }
  }

  test('who is known to the provider comes back without having seen a page there', async () => {
    behave((response, next) => response.writeHead(302, { location: next }).end())
    const { left, complaints } = await goThrough(false)
    assert.equal(complaints, [])
    assert.ok(provider.asked.some(({ path }) => path === '/login'))
    assert.match(left.join(), `${REDIRECT}?code=`)
  })

  test('who logs in on a page of the provider comes back from another site to the same login', async () => {
    behave((response, next) =>
      response.writeHead(200, HTML).end(`<a href="${next.replaceAll('&', '&amp;')}">Log in</a>`),
    )
    const { left, complaints } = await goThrough(true)
    assert.equal(complaints, [])
    assert.match(left.join(), `${REDIRECT}?code=`)
  })
}

test.run()
