/** The console in a browser: readable in light and dark, on a phone, with the keyboard, and usable without a script. */
// database: sqlite, because what a browser shows does not depend on the database
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import audit from '../../../plugins/audit/index.ts'
import consolePlugin from '../../../plugins/console/index.ts'
import { Database } from '../../../plugins/database/service.ts'
import html from '../../../plugins/html/index.ts'
import jobs from '../../../plugins/jobs/index.ts'
import { Jobs } from '../../../plugins/jobs/service.ts'
import metering from '../../../plugins/metering/index.ts'
import requestLog from '../../../plugins/request-log/index.ts'
import { type Chromium, startChromium } from '../../support/chromium.ts'
import { chromiumMissing } from '../../support/chromium-installation.ts'
import { named } from '../../support/named-callers.ts'
import { pageFaults } from '../../support/page-faults.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { basic, serverWith, type TestServer } from '../../support/server-with.ts'

const FHIR = { 'content-type': 'application/fhir+json' }
const JOB = '0123456789abcdef0123456789abcdef'
const PAGES = ['', '/search', '/audit', '/usage', '/jobs', `/jobs/${JOB}`, '/slow'].map((path) => `/_console${path}`)

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
      plugins: [
        database!,
        searchDefinitions(),
        ...others,
        html,
        named,
        jobs,
        metering,
        requestLog,
        consolePlugin,
        audit,
      ],
      settings: {
        conformance: { update_as_create: true },
        server: { bind: '127.0.0.1:0' },
        console: { enabled: true },
        request_log: { store: true },
      },
    })
    address = await server.listen()
    for (let at = 0; at < 12; at += 1) {
      const client = ['ward', 'laboratory.example.org', `app-${'x'.repeat(60)}`][at % 3] as string
      const headers = { ...FHIR, 'x-test-client': client, ...(at % 2 === 0 && { 'x-test-user': 'Practitioner/p1' }) }
      const payload = JSON.stringify({ resourceType: 'Patient', id: `a${at}`, name: [{ family: 'Chalmers' }] })
      await server.inject({ method: 'PUT', url: `/Patient/a${at}`, headers, payload })
      await server.inject({ url: `/Patient/${at % 4 === 0 ? 'none' : `a${at}`}`, headers })
    }
    const job = { id: JOB, kind: 'export', client: 'ward', person: '', spec: '{}', ruling: '', upto: 0 }
    await server.get(Database).transact(async (transaction) => server.get(Jobs).enqueue(transaction, job))
  })
  test.after(async () => {
    await chromium?.close()
    await server?.stop()
  })

  for (const [kind, width, scheme] of [
    ['light', 1000, 'light'],
    ['dark', 1000, 'dark'],
    ['phone', 390, 'light'],
    ['dark phone', 320, 'dark'],
  ] as const)
    test(`${kind}: every page has contrast, names for its controls and no sideways scrolling`, async () => {
      const { page, complaints, close } = await chromium.open()
      await page.setViewport({ width, height: 740 })
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
      for (const url of PAGES) {
        const answer = await page.goto(`${address}${url}`)
        assert.is(answer?.status(), 200, url)
        await page.$$eval('details', (all) => {
          for (const one of all) one.open = true
        })
        assert.equal(await pageFaults(page), [], url)
        assert.is(await page.$$eval('h1', (all) => all.length), 1, url)
        assert.is(await page.$$eval('.tabs [aria-current]', (all) => all.length), 1, url)
      }
      assert.equal(complaints, [])
      await close()
    })

  test('without scripts and by keyboard: from the overview to a search, and to what somebody did', async () => {
    const { page, complaints, close } = await chromium.open()
    await page.setJavaScriptEnabled(false)
    await page.goto(`${address}/_console`)
    const follow = async (selector: string): Promise<void> => {
      const arrived = page.waitForNavigation()
      await page.focus(selector)
      await page.keyboard.press('Enter')
      await arrived
    }
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    assert.match(page.url(), /#content$/)
    await follow('a[href="/_console/search"]')
    await page.select('#f-type', 'Patient')
    await page.focus('#f-query')
    await page.keyboard.type('_id=a1,a2')
    await follow('#f-query')
    assert.is(page.url(), `${address}/Patient?_id=a1%2Ca2`)
    assert.is(await page.title(), 'Patient – refhir')
    await page.goto(`${address}/_console/audit`)
    await page.focus('#f-agent')
    await page.keyboard.type('ward')
    await page.select('#f-outcome', '4')
    await follow('#f-agent')
    assert.match(page.url(), /agent=ward&.*outcome=4/)
    await follow('a[href="/Patient/none"]')
    await page.goto(`${address}/_console/usage`)
    await follow('a[href="/_console/usage?days=30&client=ward"]')
    assert.is(await page.$eval('#f-client', (field) => (field as unknown as { value: string }).value), 'ward')
    assert.equal(
      complaints.filter((one) => !one.includes('404 (Not Found)')),
      [],
    )
    await close()
  })
}

test.run()
