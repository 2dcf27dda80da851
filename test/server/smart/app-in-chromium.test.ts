/** examples/smart-app with fhirclient in a browser: launched by itself and from an EHR, with the demo login. */
// database: sqlite, what a browser shows does not depend on the database; codes and tokens have tests on each
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createAppServer } from '../../support/app-server.ts'
import { type Chromium, startChromium, type WatchedPage } from '../../support/chromium.ts'
import { chromiumMissing } from '../../support/chromium-installation.ts'
import { type App, askFor, loginClinic, registerApp } from '../../support/login-clinic.ts'
import { pageFaults } from '../../support/page-faults.ts'
import type { TestServer } from '../../support/server-with.ts'
import { BUILT_IN_BASIC, postForm } from '../../support/smart-server.ts'
import { serve } from '../../support/static-server.ts'
import { until } from '../../support/until.ts'

let chromium: Chromium
let server: TestServer
let address: string
let appServer: Server
let appAddress: string
let app: App

/** Presses Tab until the element that the selector names has the focus. */
const tabTo = async ({ page }: WatchedPage, selector: string): Promise<void> => {
  for (let press = 0; press < 30; press++) {
    if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`the keyboard does not reach ${selector} of ${page.url()}`)
}

/** Presses a button with the keyboard, and waits for the page that follows. */
const press = async (watched: WatchedPage, selector: string): Promise<void> => {
  await tabTo(watched, selector)
  await Promise.all([watched.page.waitForNavigation(), watched.page.keyboard.press('Enter')])
}

const textOf = async ({ page }: WatchedPage, id: string): Promise<string> => {
  await page.waitForSelector('#record:not([hidden])')
  return (await page.evaluate(`document.getElementById('${id}').textContent`)) as string
}

/** Opens the app and connects it to the server, as far as the login page. */
const connect = async (watched: WatchedPage): Promise<void> => {
  const { page } = watched
  await page.goto(appAddress)
  await page.$eval('#server', (field) => void Object.assign(field, { value: '' }))
  await page.type('#server', address)
  await page.type('#client', app.id)
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
  assert.match(page.url(), `${address}/oauth/interaction/`)
}

const logIn = async (watched: WatchedPage): Promise<void> => {
  // The browser moves the focus there when it first draws the page.
  await watched.page.waitForFunction(`document.activeElement.name === 'username'`, { timeout: 5000 })
  await watched.page.keyboard.type('Dr. Demo')
  await Promise.all([watched.page.waitForNavigation(), watched.page.keyboard.press('Enter')])
}

if (chromiumMissing !== undefined) {
  test(`nothing was tried in a browser: ${chromiumMissing}`, () => {})
} else {
  test.before(async () => {
    chromium = await startChromium()
    server = await loginClinic({
      settings: { server: { bind: '127.0.0.1:0' }, conformance: { update_as_create: true } },
      smart: { fhir_user: 'Practitioner/doc' },
    })
    address = await server.listen()
    appServer = createAppServer().listen(0, '127.0.0.1')
    await once(appServer, 'listening')
    appAddress = `http://127.0.0.1:${(appServer.address() as AddressInfo).port}/`
    app = await registerApp(server, { client_name: 'Growth <b>chart</b>', redirect_uris: [appAddress] })
  })
  test.after(async () => {
    await chromium.close()
    appServer.close()
    appServer.closeAllConnections()
    await server.stop()
  })

  test('an app that was opened by itself logs in, picks a patient and reads it, by the keyboard alone', async () => {
    const watched = await chromium.open()
    const { page } = watched
    await connect(watched)
    const faults = [...(await pageFaults(page))]
    await logIn(watched)
    assert.match(page.url(), /\/patient$/)
    faults.push(...(await pageFaults(page)))
    await tabTo(watched, '#q')
    await page.keyboard.type('Anna')
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
    assert.equal(
      await page.$$eval('button[name=patient]', (buttons) => buttons.map((one) => one.getAttribute('value'))),
      ['p1'],
    )
    faults.push(...(await pageFaults(page)))
    await press(watched, 'button[value=p1]')
    assert.match(page.url(), /\/consent$/)
    faults.push(...(await pageFaults(page)))
    await press(watched, 'button[value=allow]')
    assert.is(await textOf(watched, 'name'), 'Anna Example')
    assert.is(await textOf(watched, 'patient'), 'p1')
    assert.is(await textOf(watched, 'user'), 'Practitioner/doc')
    assert.is(await textOf(watched, 'observations'), '1')
    assert.equal(faults, [])
    assert.equal(watched.complaints, [])
    await watched.close()
  })

  test('the app refreshes its token from the browser and reads with the new one', async () => {
    const watched = await chromium.open()
    await connect(watched)
    await logIn(watched)
    await press(watched, 'button[value=p1]')
    await press(watched, 'button[value=allow]')
    await textOf(watched, 'name')
    await watched.page.click('#refresh')
    await watched.page.waitForFunction(`document.getElementById('news').textContent !== ''`)
    assert.is(await textOf(watched, 'news'), 'The token is new.')
    assert.equal(watched.complaints, [])
    await watched.close()
  })

  test('an app that an EHR opens gets the patient and encounter of the EHR, without a picker', async () => {
    const watched = await chromium.open()
    const { page } = watched
    await connect(watched) // so that the app knows its client id
    const made = await postForm(
      server,
      '/oauth/launch',
      { app: app.id, patient: 'p2', encounter: 'e2' },
      { authorization: BUILT_IN_BASIC },
    )
    assert.is(made.statusCode, 201, made.body)
    const { launch } = made.json() as { launch: string }
    const opened = page.waitForNavigation()
    await page.goto(`${appAddress}?${new URLSearchParams({ iss: address, launch }).toString()}`)
    await opened
    await page.waitForSelector('#username')
    await logIn(watched)
    assert.match(page.url(), /\/consent$/)
    await press(watched, 'button[value=allow]')
    assert.is(await textOf(watched, 'patient'), 'p2')
    assert.is(await textOf(watched, 'encounter'), 'e2')
    assert.equal(watched.complaints, [])
    await watched.close()
  })

  /** An authorization request for the app, in a browser that keeps what it was redirected to. */
  const ask = async (
    watched: WatchedPage,
    own: App,
    more: Readonly<Record<string, string>> = {},
  ): Promise<string[]> => {
    const left: string[] = []
    watched.page.on('requestfailed', (request) => left.push(request.url()))
    const { url } = askFor(own, 'launch/patient patient/*.rs', { aud: address, ...more })
    await watched.page.goto(`${address}${url}`)
    return left
  }

  test('an installed app gets its code by its own scheme', async () => {
    const native = await registerApp(server, {
      redirect_uris: ['com.example.app:/cb'],
      application_type: 'native',
    })
    const watched = await chromium.open()
    const left = await ask(watched, native, { state: 'state-of-the-app' })
    await logIn(watched)
    await press(watched, 'button[value=p1]')
    assert.match(await watched.page.$eval('.foot', (foot) => foot.textContent ?? ''), 'com.example.app:')
    await tabTo(watched, 'button[value=allow]')
    await watched.page.keyboard.press('Enter')
    // Chromium may count the form's own request as failed, too: what it redirects to has no page.
    const opened = (): string | undefined => left.find((url) => !url.startsWith(address))
    await until(() => opened() !== undefined || watched.complaints.length > 0, 5000, 'the redirect')
    assert.equal(watched.complaints, [])
    const back = new URL(opened() ?? '')
    assert.is(`${back.protocol}${back.pathname}`, 'com.example.app:/cb')
    assert.equal([...back.searchParams.keys()], ['code', 'state', 'iss'])
    await watched.close()
  })

  test('no page of another site shows the login in a frame', async () => {
    const { url } = askFor(app, 'launch/patient patient/*.rs', { aud: address })
    const frame = `<iframe src="${address}${url.replaceAll('&', '&amp;')}"></iframe>`
    const other = await serve((_request, response) =>
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(frame),
    )
    const watched = await chromium.open()
    await watched.page.goto(other.address)
    await until(() => watched.complaints.length > 0, 5000, 'what the browser says')
    assert.match(watched.complaints.join('\n'), "frame-ancestors 'none'")
    await watched.close()
    await other.close()
  })

  test('a scope that a person unchecks is not granted, and who denies sends the app away with nothing', async () => {
    const watched = await chromium.open()
    const { page } = watched
    await connect(watched)
    await logIn(watched)
    await press(watched, 'button[value=p1]')
    await tabTo(watched, 'input[value="offline_access"]')
    await page.keyboard.press('Space')
    await press(watched, 'button[value=allow]')
    const scopes = 'openid fhirUser patient/Patient.rs patient/Observation.rs'
    assert.is(
      (await textOf(watched, 'scopes'))
        .split(' ')
        .filter((one) => one !== 'launch/patient')
        .join(' '),
      scopes,
    )
    assert.is(await page.$eval('#refresh', (button) => button.hasAttribute('hidden')), true)
    await watched.close()
    const other = await chromium.open()
    await connect(other)
    await logIn(other)
    await press(other, 'button[value=p1]')
    await press(other, 'button[value=deny]')
    await other.page.waitForSelector('#mistake:not([hidden])')
    assert.match(other.page.url(), 'error=access_denied')
    assert.equal(other.complaints, [])
    await other.close()
  })
}

test.run()
