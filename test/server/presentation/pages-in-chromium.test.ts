/** Pages in a browser: readable in light and dark, on a phone, with the keyboard, and usable without a script. */
// database: sqlite, because what a browser shows does not depend on the database
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import html from '../../../plugins/html/index.ts'
import metering from '../../../plugins/metering/index.ts'
import { type Chromium, startChromium } from '../../support/chromium.ts'
import { chromiumMissing } from '../../support/chromium-installation.ts'
import { pageFaults } from '../../support/page-faults.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { basic, serverWith, type TestServer } from '../../support/server-with.ts'

const FHIR = { 'content-type': 'application/fhir+json' }
const NARRATIVE =
  '<div xmlns="http://www.w3.org/1999/xhtml"><h2>Peter</h2><table><tr><th>Born</th><td>1974</td></tr></table></div>'
const PAGES = [
  '/',
  '/Patient?_count=2',
  '/Patient/a1',
  '/Patient/a1/_history',
  '/_history',
  '/Patient?nonsense=1',
  '/_usage',
  '/Observation?code=x',
]

let chromium: Chromium
let server: TestServer
let address: string

if (chromiumMissing !== undefined) {
  test(`nothing was tried in a browser: ${chromiumMissing}`, () => {})
} else {
  test.before(async () => {
    chromium = await startChromium()
    const [database, , ...others] = basic
    server = await serverWith({
      plugins: [database!, searchDefinitions(), ...others, html, metering],
      settings: { conformance: { update_as_create: true }, server: { bind: '127.0.0.1:0' } },
    })
    address = await server.listen()
    for (let at = 0; at < 5; at += 1) {
      const payload = JSON.stringify({
        resourceType: 'Patient',
        id: `a${at}`,
        text: { status: 'generated', div: NARRATIVE },
        name: [{ family: `Chalmers${'x'.repeat(at * 20)}`, given: ['Peter'] }],
        birthDate: '1974-12-25',
        link: at > 0 ? [{ other: { reference: 'Patient/a0' }, type: 'seealso' }] : undefined,
      })
      await server.inject({ method: 'PUT', url: `/Patient/a${at}`, headers: FHIR, payload })
    }
  })
  test.after(async () => {
    await chromium?.close()
    await server?.stop()
  })

  for (const [kind, width, scheme] of [
    ['light', 1000, 'light'],
    ['dark', 1000, 'dark'],
    ['phone', 360, 'light'],
    ['dark phone', 320, 'dark'],
  ] as const)
    test(`${kind}: every page has contrast, names for its controls and no sideways scrolling`, async () => {
      const { page, complaints, close } = await chromium.open()
      await page.setViewport({ width, height: 740 })
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
      for (const url of PAGES) {
        await page.goto(`${address}${url}`)
        // What is folded up is read as well.
        await page.$$eval('details', (all) => {
          for (const one of all) one.open = true
        })
        assert.equal(await pageFaults(page), [], url)
        const headings = await page.$$eval('h1', (all) => all.length)
        assert.is(headings, 1, url)
      }
      // Chromium reports the status 400 of a page that it shows.
      assert.equal(
        complaints.filter((one) => !one.includes('400 (Bad Request)')),
        [],
      )
      await close()
    })

  test('without scripts and by keyboard: from the start page to a type, a search, a resource and its reference', async () => {
    const { page, close } = await chromium.open()
    await page.setJavaScriptEnabled(false)
    await page.goto(address)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    assert.match(page.url(), /#content$/)
    const follow = async (selector: string): Promise<void> => {
      const arrived = page.waitForNavigation()
      await page.focus(selector)
      await page.keyboard.press('Enter')
      await arrived
    }
    await follow('a[href="/Patient"]')
    await page.focus('#q-name')
    await page.keyboard.type('chalmersxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx')
    await follow('#q-name')
    assert.match(page.url(), /\/Patient\?.*name=chalmersx/)
    await follow('a[href="/Patient/a2"]')
    await follow('pre a[href="/Patient/a0"]')
    assert.is(new URL(page.url()).pathname, '/Patient/a0')
    await follow('a[href="/Patient/a0/_history"]')
    assert.match(await page.title(), /History of Patient\/a0/)
    await close()
  })
}

test.run()
