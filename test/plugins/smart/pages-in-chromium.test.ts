/** The pages of the login in a browser: readable, usable with the keyboard, and not hindered by their policy. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createPages } from '../../../plugins/smart/pages/pages.ts'
import { type Chromium, startChromium } from '../../support/chromium.ts'
import { chromiumMissing } from '../../support/chromium-installation.ts'
import { pageFaults } from '../../support/page-faults.ts'
import { samplePages } from '../../support/sample-pages.ts'
import { type StaticServer, serve } from '../../support/static-server.ts'
import { until } from '../../support/until.ts'

const { csp } = createPages()
const pages = samplePages()
const HTML = { 'content-type': 'text/html; charset=utf-8' }

let chromium: Chromium
let server: StaticServer
/** Where the next form is answered to, and under which policy the page with it is. */
let redirect = ''
let policy = csp()
let app: StaticServer
let home: StaticServer

if (chromiumMissing !== undefined) {
  test(`nothing was tried in a browser: ${chromiumMissing}`, () => {})
} else {
  test.before(async () => {
    chromium = await startChromium()
    server = await serve((request, response) => {
      if (request.method === 'POST') response.writeHead(303, { location: redirect }).end()
      else
        response.writeHead(200, { ...HTML, 'content-security-policy': policy }).end(pages[request.url?.slice(1) ?? ''])
    })
    home = await serve((_request, response) => response.writeHead(200, HTML).end('home'))
    app = await serve((_request, response) => response.writeHead(302, { location: `${home.address}/in` }).end())
  })
  test.after(async () => {
    await chromium.close()
    await Promise.all([server, app, home].map((one) => one.close()))
  })

  for (const [kind, width, scheme] of [
    ['light', 1000, 'light'],
    ['dark', 1000, 'dark'],
    ['phone', 360, 'light'],
    ['dark phone', 360, 'dark'],
    ['zoomed', 320, 'light'],
  ] as const)
    test(`${kind}: every page has contrast, names for its controls and no sideways scrolling`, async () => {
      policy = csp()
      const { page, complaints, close } = await chromium.open()
      await page.setViewport({ width, height: 740 })
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
      for (const name of Object.keys(pages)) {
        await page.goto(`${server.address}/${name}`)
        assert.equal(await pageFaults(page), [], name)
      }
      assert.equal(complaints, [])
      await close()
    })

  test('the keyboard reaches what a page asks for in its order, and shows where it is', async () => {
    policy = csp()
    const { page, close } = await chromium.open()
    const focused = (): Promise<unknown> =>
      page.evaluate(`(() => {
        const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement)
        return outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2
          ? document.activeElement.name + '=' + document.activeElement.value
          : 'focus is not visible'
      })()`)
    const order = async (name: string, presses: number): Promise<unknown[]> => {
      await page.goto(`${server.address}/${name}`)
      const seen: unknown[] = []
      for (let press = 0; press < presses; press++) {
        await page.keyboard.press('Tab')
        seen.push(await focused())
      }
      return seen
    }
    assert.equal(await order('consent-short', 2), ['decision=allow', 'decision=deny'])
    assert.equal(await order('patient', 4), ['q=', '=', 'patient=p1', 'patient=p2'])
    assert.equal((await order('consent', 8)).slice(5), ['scope=offline_access', 'decision=allow', 'decision=deny'])
    await page.goto(`${server.address}/login-demo`)
    await page.waitForFunction('document.activeElement !== document.body', { timeout: 5000 })
    assert.is(await focused(), 'username=', 'the only field has the focus at once')
    await close()
  })

  const allow = async (targets: readonly (string | undefined)[], to: string) => {
    policy = csp(...targets)
    redirect = to
    const { page, complaints, close } = await chromium.open()
    const left: string[] = []
    // From the protocol itself: the library's own event may still name the request before the redirect.
    const session = await page.createCDPSession()
    await session.send('Network.enable')
    session.on('Network.requestWillBeSent', ({ request: { url } }) => {
      if (!url.startsWith('http')) left.push(url)
    })
    await page.goto(`${server.address}/consent-short`)
    await page.click('button[value=allow]')
    await until(
      () => complaints.length > 0 || left.length > 0 || page.url().startsWith(home.address),
      5000,
      'the answer',
    )
    const url = page.url()
    await close()
    return { url, complaints, left }
  }

  test('the policy lets the redirect behind a form pass to an app, and on to where the app goes', async () => {
    const { url, complaints } = await allow([`${app.address}/cb`], `${app.address}/cb?code=1`)
    assert.equal(complaints, [])
    assert.is(url, `${home.address}/in`)
  })

  test('the policy lets the redirect behind a form pass to the scheme of a native app', async () => {
    const { complaints, left } = await allow(['com.example.app:/cb'], 'com.example.app:/cb?code=1')
    assert.equal(complaints, [])
    assert.equal(left, ['com.example.app:/cb?code=1'], 'the browser hands the address over')
  })

  test('a redirect that the policy does not name is blocked by the browser', async () => {
    const { url, complaints } = await allow([undefined], `${app.address}/cb?code=1`)
    assert.match(complaints.join(), "form-action 'self'")
    assert.is(url, `${server.address}/consent-short`)
  })
}

test.run()
