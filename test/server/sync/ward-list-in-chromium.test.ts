/** examples/ward-list in a browser: what is on the ward, what others change, and what was missed while the connection was gone. */
// database: sqlite, live queries have tests on each
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import cors from '../../../plugins/cors/index.ts'
import database from '../../../plugins/database/index.ts'
import probes from '../../../plugins/probes/index.ts'
import sync from '../../../plugins/sync/index.ts'
import { type Chromium, startChromium, type WatchedPage } from '../../support/chromium.ts'
import { chromiumMissing } from '../../support/chromium-installation.ts'
import { type FreshDatabase, sqliteKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { pageFaults } from '../../support/page-faults.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { wardDefinitions } from '../../support/ward-definitions.ts'
import { createWardListServer } from '../../support/ward-list-server.ts'

type Json = Record<string, any>

const WAIT_MS = 10_000
const WARD = JSON.parse(readFileSync(new URL('../../../examples/ward-list/ward.json', import.meta.url), 'utf8')) as Json
const headers = { 'content-type': 'application/fhir+json' }

let chromium: Chromium
let server: TestServer
let proxy: TcpProxy
let pages: Server
let pageAddress: string
let fresh: FreshDatabase
let port = 0

const start = async (): Promise<void> => {
  server = await serverWith({
    plugins: [database, wardDefinitions, ...fhirPlugins, probes, cors, sync],
    settings: {
      ...fresh.settings,
      server: { bind: `127.0.0.1:${port}` },
      conformance: { update_as_create: true },
      cors: { origins: [pageAddress] },
    },
  })
  port = Number(new URL(await server.listen()).port)
}
const stop = (): Promise<void> => server.stop()

const send = async (method: 'POST' | 'PUT' | 'DELETE', url: string, body?: Json): Promise<void> => {
  const payload = body === undefined ? {} : { headers, payload: JSON.stringify(body) }
  const answer = await server.inject({ method, url, ...payload })
  assert.ok(answer.statusCode < 300, answer.body)
}
const stay = (id: string): Json => {
  const { resource } = (WARD.entry as Json[]).find((one) => one.resource.id === id) as Json
  return structuredClone(resource)
}
const put = (resource: Json): Promise<void> => send('PUT', `/Encounter/${resource.id}`, resource)

/** What the page sends over its WebSockets is kept in `sent`. */
const WATCH = `(() => {
  window.sent = []
  const send = WebSocket.prototype.send
  WebSocket.prototype.send = function (text) { window.sent.push(JSON.parse(text)); return send.call(this, text) }
})()`
const open = async (): Promise<WatchedPage> => {
  const watched = await chromium.open()
  await watched.page.evaluateOnNewDocument(WATCH)
  const chosen = new URLSearchParams({ server: `http://127.0.0.1:${proxy.port}`, ward: '3b' })
  await watched.page.goto(`${pageAddress}/?${chosen.toString()}`)
  return watched
}
/** Waits until the list shows these names, in this order. */
const shows = ({ page }: WatchedPage, names: readonly string[]): Promise<unknown> =>
  page.waitForFunction(
    `[...document.querySelectorAll('#list .name')].map(({ textContent }) => textContent).join() === ${JSON.stringify(names.join())}`,
    { timeout: WAIT_MS },
  )
const says = ({ page }: WatchedPage, state: string): Promise<unknown> =>
  page.waitForSelector(`#state[data-state=${state}]`, { timeout: WAIT_MS })
const sentBy = async ({ page }: WatchedPage): Promise<readonly Json[]> => (await page.evaluate('window.sent')) as Json[]

if (chromiumMissing !== undefined) {
  test(`nothing was tried in a browser: ${chromiumMissing}`, () => {})
} else {
  test.before(async () => {
    chromium = await startChromium()
    pages = createWardListServer().listen(0, '127.0.0.1')
    await once(pages, 'listening')
    pageAddress = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`
    fresh = await sqliteKind.fresh()
    await start()
    proxy = await startTcpProxy(port)
  })
  test.after(async () => {
    await chromium.close()
    pages.close()
    pages.closeAllConnections()
    proxy.stop()
    await stop()
    await fresh.remove()
  })
  test.before.each(() => send('POST', '/', WARD))

  test('the list shows the stays of the ward, sorted by bed, on a page that is easy to read', async () => {
    const other = stay('stay-rosa')
    await put({ ...other, id: 'elsewhere', location: [{ location: { reference: 'Location/4a' } }] })
    const watched = await open()
    await shows(watched, ['Amara Okafor', 'Jonas Lindqvist', 'Rosa Delgado'])
    await says(watched, 'live')
    assert.is(await watched.page.$eval('#count', ({ textContent }) => textContent), '3 patients')
    for (const scheme of ['light', 'dark']) {
      await watched.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
      assert.equal(await pageFaults(watched.page), [], scheme)
    }
    await watched.page.setViewport({ width: 360, height: 640 })
    assert.equal(await pageFaults(watched.page), [], 'on a phone')
    assert.equal(watched.complaints, [])
    await watched.close()
  })

  test('a change appears by itself, one that leaves the ward goes away, and text is shown as text', async () => {
    const watched = await open()
    await shows(watched, ['Amara Okafor', 'Jonas Lindqvist', 'Rosa Delgado'])
    await put({ ...stay('stay-jonas'), subject: { reference: 'Patient/jonas', display: '<b>Jonas</b>' } })
    await shows(watched, ['Amara Okafor', '<b>Jonas</b>', 'Rosa Delgado'])
    await put({ ...stay('stay-amara'), status: 'finished' })
    await shows(watched, ['<b>Jonas</b>', 'Rosa Delgado'])
    await send('DELETE', '/Encounter/stay-rosa')
    await shows(watched, ['<b>Jonas</b>'])
    await put({ ...stay('stay-rosa'), id: 'new' })
    await shows(watched, ['<b>Jonas</b>', 'Rosa Delgado'])
    assert.equal(watched.complaints, [])
    await send('DELETE', '/Encounter/new')
    await watched.close()
  })

  test('after a lost connection it says so, asks for what it missed, and shows that', async () => {
    const watched = await open()
    await shows(watched, ['Amara Okafor', 'Jonas Lindqvist', 'Rosa Delgado'])
    await says(watched, 'live')
    proxy.onClient = () => 'drop'
    proxy.cut()
    await says(watched, 'waiting')
    await put({ ...stay('stay-amara'), status: 'finished' })
    await put({ ...stay('stay-rosa'), subject: { reference: 'Patient/rosa', display: 'Rosa Delgado Ruiz' } })
    proxy.onClient = () => 'pass'
    await shows(watched, ['Jonas Lindqvist', 'Rosa Delgado Ruiz'])
    await says(watched, 'live')
    const asked = (await sentBy(watched)).filter(({ op }) => op === 'subscribe')
    assert.is(asked[0]?.resume, undefined)
    assert.type(asked.at(-1)?.resume, 'string')
    await watched.close()
  })

  test('more than a page of stays is asked for page by page', async () => {
    const entry = Array.from({ length: 120 }, (_, n) => {
      const id = `many-${n}`
      return { resource: { ...stay('stay-jonas'), id }, request: { method: 'PUT', url: `Encounter/${id}` } }
    })
    await send('POST', '/', { resourceType: 'Bundle', type: 'transaction', entry })
    const watched = await open()
    await watched.page.waitForFunction(`document.querySelectorAll('#list li').length === 123`, { timeout: WAIT_MS })
    assert.is((await sentBy(watched)).filter(({ op }) => op === 'more').length, 2)
    await watched.close()
  })

  test('a server that was started anew does not know the place to go on from, so the set is asked for anew', async () => {
    const watched = await open()
    await says(watched, 'live')
    await stop()
    await says(watched, 'waiting')
    await start()
    await put({ ...stay('stay-amara'), subject: { reference: 'Patient/amara', display: 'Amara Nwosu' } })
    await says(watched, 'live')
    await watched.page.waitForFunction(`document.body.textContent.includes('Amara Nwosu')`, { timeout: WAIT_MS })
    assert.is(await watched.page.$$eval('#list li', (all) => all.length), 123)
    const resumes = (await sentBy(watched)).filter(({ op }) => op === 'subscribe').map(({ resume }) => typeof resume)
    assert.equal(resumes, ['undefined', 'string', 'undefined'])
    await watched.close()
  })

  test('a query that the server refuses ends with what it said, and is not asked again', async () => {
    const watched = await open()
    const states =
      await watched.page.evaluate(`import('./live-query.js').then(({ liveQuery }) => new Promise((resolve) => {
      const states = []
      const onState = (...state) => { states.push(state); if (state[0] === 'over') resolve(states) }
      liveQuery({ server: 'http://127.0.0.1:${proxy.port}', query: 'Encounter?_sort=date', onSet() {}, onState })
    }))`)
    assert.equal(
      (states as string[][]).map(([state]) => state),
      ['over'],
    )
    assert.match((states as string[][])[0]?.[1] ?? '', /_sort/)
    await watched.close()
  })
}

test.run()
