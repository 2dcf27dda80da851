/**
 * Browsers get pages: the same interactions with the same status, rulings and audit events as the JSON, shown otherwise.
 * API clients get what they get without the plugin, byte for byte.
 */
// database: sqlite, because pages are made of answers, which do not depend on the database
import { gunzipSync } from 'node:zlib'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, defineError, definePlugin } from '../../../kernel/index.ts'
import audit from '../../../plugins/audit/index.ts'
import html from '../../../plugins/html/index.ts'
import limits from '../../../plugins/limits/index.ts'
import metering from '../../../plugins/metering/index.ts'
import requestLog from '../../../plugins/request-log/index.ts'
import smart from '../../../plugins/smart/index.ts'
import { createCountedRandom } from '../../support/counted-random.ts'
import { createManualClock } from '../../support/manual-clock.ts'
import { exchange } from '../../support/raw-http.ts'
import { onlyTypes } from '../../support/restrictions.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { basic, serverWith, type TestServer } from '../../support/server-with.ts'
import { smartServer } from '../../support/smart-server.ts'

const FHIR = { 'content-type': 'application/fhir+json' }
const CHROME =
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7'
const FIREFOX = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const PAGE = 'text/html; charset=utf-8'

interface Witness {
  readonly plugin: AnyPlugin
  readonly facts: string[]
  admitted: number
}

const createWitness = (): Witness => {
  const witness: Witness = {
    facts: [],
    admitted: 0,
    plugin: definePlugin({
      name: 'witness',
      setup({ hooks }) {
        hooks.admit.tap('count', () => {
          witness.admitted += 1
          return undefined
        })
        hooks.authorize.tap('hide', (request, _interaction, ruling) => {
          if (request.headers['x-limited'] !== undefined) ruling.restrict(onlyTypes('Observation'))
        })
        hooks.onAudit.tap(
          'keep',
          ({ interaction, status }) => void witness.facts.push(JSON.stringify([interaction, status])),
        )
      },
    }),
  }
  return witness
}

const start = async (plugins: readonly AnyPlugin[]): Promise<TestServer> => {
  const server = await serverWith({
    plugins: [...basic, audit, metering, requestLog, ...plugins],
    clock: createManualClock(),
    random: createCountedRandom(),
    settings: {
      conformance: { update_as_create: true },
      request_log: { store: true },
      server: { bind: '127.0.0.1:0' },
      fhir: { page_size: 3 },
    },
  })
  const put = (id: string, rest: object): Promise<unknown> =>
    server.inject({
      method: 'PUT',
      url: `/Patient/${id}`,
      headers: FHIR,
      payload: JSON.stringify({ resourceType: 'Patient', id, ...rest }),
    })
  for (let at = 0; at < 5; at += 1) await put(`p${at}`, { name: [{ family: `Chalmers ${at}` }] })
  await put('p1', { name: [{ family: 'Changed' }], link: [{ other: { reference: 'Patient/p0' }, type: 'seealso' }] })
  await put('big', { name: [{ family: 'x'.repeat(5_000) }] })
  await server.inject({ method: 'DELETE', url: '/Patient/p4' })
  await server.inject({
    method: 'PUT',
    url: '/Binary/b',
    headers: FHIR,
    payload: '{"resourceType":"Binary","id":"b","contentType":"text/plain","data":"aGVsbG8="}',
  })
  return server
}

const witness = createWitness()
let server: TestServer
let plain: TestServer
test.before(async () => {
  server = await start([html, witness.plugin])
  plain = await start([createWitness().plugin])
})
test.after(async () => {
  await server.stop()
  await plain.stop()
})

const open = (url: string, accept = CHROME, more: Readonly<Record<string, string>> = {}) =>
  server.inject({ url, headers: { accept, ...more } })

const ADDRESSES = [
  '/metadata',
  '/Patient/p1',
  '/Patient/p1/_history/1',
  '/Patient/big',
  '/Patient?_count=2',
  '/Patient?_sort=-_lastUpdated',
  '/Patient/p1/_history',
  '/_history',
  '/Patient/p1/$everything',
  '/?_type=Patient',
  '/Patient/none',
  '/Patient/p4',
  '/Patient?nonsense=1',
  '/Nonsense/1',
  '/a/b/c/d/e/f',
  '/Binary/b',
  '/_usage',
  '/_requests',
  '/_audit',
] as const

for (const accept of [
  undefined,
  '*/*',
  'application/fhir+json',
  'application/json, text/plain, */*',
  'application/fhir+json, text/html',
  'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2',
])
  test(`Accept: ${accept ?? 'none'} is answered as without the plugin`, async () => {
    for (const url of [...ADDRESSES, '/Patient/p1?_format=json', '/Patient/p1?_format=nonsense']) {
      const headers = accept === undefined ? {} : { accept }
      const [one, other] = await Promise.all([server.inject({ url, headers }), plain.inject({ url, headers })])
      assert.is(one.statusCode, other.statusCode, url)
      const settled = (text: string): string =>
        text.replaceAll(/"id":"[^"]*"|"date":"[^"]*"|"value":"[0-9a-f]{32}"|_page=[^"&]*/g, '')
      // What the trail and usage hold depends on what was asked before.
      if (!/^\/_(?:usage|requests|audit)/.test(url)) assert.is(settled(one.body), settled(other.body), url)
      const { date: _, 'x-request-id': _id, 'content-length': _length, ...head } = one.headers
      const { date: __, 'x-request-id': __id, 'content-length': __length, ...otherHead } = other.headers
      assert.equal(head, otherHead, url)
    }
  })

test('a browser gets a page with the status, validators and headers of the JSON', async () => {
  for (const url of ADDRESSES) {
    if (url === '/Binary/b') continue
    for (const accept of [CHROME, FIREFOX, 'text/html', 'TEXT/HTML']) {
      const page = await open(url, accept)
      const json = await server.inject({ url, headers: { accept: 'application/json' } })
      assert.is(page.statusCode, json.statusCode, url)
      assert.is(page.headers['content-type'], PAGE, url)
      assert.is(page.headers.etag, json.headers.etag, url)
      assert.is(page.headers['last-modified'], json.headers['last-modified'], url)
      assert.match(page.body, /^<!doctype html>/)
      assert.match(page.headers['content-security-policy'] as string, /^default-src 'none'; style-src 'sha256-[^']+'; /)
      assert.not.match(page.body, /<script|style="/)
      assert.is(page.headers['cache-control'], 'no-store')
      assert.match(page.headers.vary as string, /\baccept\b/)
      if (json.statusCode === 200 && !url.startsWith('/_'))
        assert.match(json.headers.vary as string, /\baccept\b(?!-)/, url)
    }
  }
})

test('_format=html shows a page to any client, and a Binary too, whose content a browser downloads otherwise', async () => {
  for (const url of [
    '/Patient/p1?_format=html',
    '/Patient?_count=2&_format=text/html',
    '/Binary/b?_format=text%2Fhtml',
    '/_usage?_format=html',
    '/Patient/p1?_format=&_format=html',
  ]) {
    const page = await open(url, '*/*')
    assert.is(page.statusCode, 200, url)
    assert.is(page.headers['content-type'], PAGE, url)
    assert.is(page.headers['content-disposition'], undefined)
  }
  assert.is((await open('/Patient/p1?_format=')).headers['content-type'], PAGE)
  assert.is((await open('/Binary/b')).body, 'hello')
  assert.is((await open('/Patient/p1?_format=json')).headers['content-type'], 'application/fhir+json; charset=utf-8')
  assert.is((await plain.inject('/Patient/p1?_format=html')).statusCode, 406)
})

test('a page is the same interaction for hooks, limits and the trail, and shows no more', async () => {
  for (const url of [
    '/Patient/p1',
    '/Patient?_count=2',
    '/Patient/none',
    '/Patient/p1/_history',
    '/_usage',
    '/Patient?nonsense=1',
  ]) {
    const told = async (accept: string): Promise<unknown> => {
      witness.facts.length = 0
      witness.admitted = 0
      await open(url, accept)
      return { facts: [...witness.facts], admitted: witness.admitted }
    }
    assert.equal(await told(CHROME), await told('application/json'), url)
  }
  const hidden = await open('/Patient/p1', CHROME, { 'x-limited': '1' })
  assert.ok(hidden.statusCode >= 403 && hidden.statusCode <= 404)
  assert.not.match(hidden.body, /Changed/)
})

test('the page of a resource leads to its references, versions, history and compartment', async () => {
  const { body } = await open('/Patient/p1')
  for (const href of [
    '/Patient/p0',
    '/Patient/p1/_history',
    '/Patient/p1/_history/1',
    '/Patient/p1/$everything',
    '/metadata',
  ])
    assert.ok(body.includes(`href="${href}"`), href)
})

test('a Bundle is a table with its entries, the form of the search and the next page', async () => {
  const { body } = await open('/Patient?_count=2&_sort=-_lastUpdated')
  assert.match(body, /<form class="card" method="get" action="\/Patient"/)
  assert.match(body, /name="_count" value="2"/)
  assert.match(body, /href="\/Patient\/big"/)
  const next = /href="([^"]*)" rel="next"/.exec(body)?.[1]?.replaceAll('&amp;', '&') as string
  const second = await open(next)
  assert.is(second.statusCode, 200)
  assert.is(second.headers['content-type'], PAGE)
  const history = await open('/Patient/p1/_history')
  assert.match(history.body, /href="\/Patient\/p1\/_history\/2"/)
})

test('the root and /metadata are a start page with the types', async () => {
  for (const url of ['/', '/metadata', '/?_format=html']) {
    const { body, statusCode } = await open(url)
    assert.is(statusCode, 200)
    assert.match(body, /href="\/Patient"/, url)
    assert.match(body, /resource types/)
  }
})

test('the form has the search parameters of the type, and the page of a Patient leads to its compartment', async () => {
  const [database, , ...others] = basic
  const rich = await serverWith({
    plugins: [database as AnyPlugin, searchDefinitions(), ...others, html],
    settings: { conformance: { update_as_create: true } },
  })
  try {
    await rich.inject({
      method: 'PUT',
      url: '/Patient/a',
      headers: FHIR,
      payload: '{"resourceType":"Patient","id":"a"}',
    })
    const page = async (url: string): Promise<string> => (await rich.inject({ url, headers: { accept: CHROME } })).body
    assert.match(await page('/Patient/a'), /href="\/Patient\/a\/Observation"/)
    const search = await page('/Patient?name=chal&name:exact=x&birthdate=ge2000')
    assert.match(search, /<input id="q-name" name="name" value="chal"/)
    assert.match(search, /name="birthdate" value="ge2000"/)
    assert.match(search, /name="name:exact" value="x"/)
    assert.match(await page('/Patient/a/Observation'), /action="\/Patient\/a\/Observation"/)
  } finally {
    await rich.stop()
  }
})

test('a HEAD has the head of the page, pages are compressed, and a direct answer leaves browsers to the router', async () => {
  const head = await server.inject({ method: 'HEAD', url: '/Patient/p1', headers: { accept: CHROME } })
  assert.is(head.headers['content-type'], PAGE)
  assert.is(head.body, '')
  for (const url of ['/Patient/big', '/Patient?_count=2']) {
    const page = await server.inject({ url, headers: { accept: CHROME, 'accept-encoding': 'gzip' } })
    assert.is(page.headers['content-encoding'], 'gzip', url)
    assert.match(gunzipSync(page.rawPayload).toString(), /^<!doctype html>/)
  }
  const address = await server.listen()
  const { answers } = await exchange(
    address,
    `GET /Patient/p1 HTTP/1.1\r\nHost: a\r\nAccept: ${CHROME}\r\nConnection: close\r\n\r\n`,
  )
  assert.is(answers[0]?.headers['content-type'], PAGE)
})

test('the page of a request that names the whole URL is the same', async () => {
  const own = await start([html])
  const address = await own.listen()
  const payload = '{"resourceType":"Patient","id":"p1"}'
  await own.inject({ method: 'PUT', url: '/Patient/p1', headers: FHIR, payload })
  const { host } = new URL(address)
  const pages = await Promise.all(
    ['/Patient/p1/_history/1', `${address}/Patient/p1/_history/1`].map(async (target) => {
      const head = `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nAccept: ${CHROME}\r\nX-Request-Id: same\r\nConnection: close\r\n\r\n`
      const [answer] = (await exchange(address, head)).answers
      return [answer?.statusCode, answer?.headers['content-type'], answer?.body]
    }),
  )
  assert.equal(pages[0]?.slice(0, 2), [200, PAGE])
  assert.equal(pages[1], pages[0])
  await own.stop()
})

test('a Host that is no host and port is refused with a page, and leaves no error in the log', async () => {
  const own = await start([html])
  const address = await own.listen()
  await own.inject({
    method: 'PUT',
    url: '/Patient/p1',
    headers: FHIR,
    payload: '{"resourceType":"Patient","id":"p1"}',
  })
  for (const host of ['a b', 'a:99999', '1.2.3.999', '[1]', '[::1]:65536', 'a/b'])
    for (const [accept, type] of [
      [CHROME, PAGE],
      ['application/json', 'application/fhir+json; charset=utf-8'],
    ]) {
      const head = `GET /Patient/p1 HTTP/1.1\r\nHost: ${host}\r\nAccept: ${accept}\r\nConnection: close\r\n\r\n`
      const [answer] = (await exchange(address, head)).answers
      assert.equal([answer?.statusCode, answer?.headers['content-type']], [400, type], `${host} ${accept}`)
      assert.match(answer?.body ?? '', 'the header host is not a host and port')
    }
  for (const host of ['a', 'a:65535', '127.0.0.1:0', '[::1]:8080', 'fhir_1.example'])
    assert.is(
      (await exchange(address, `GET /Patient/p1 HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).answers[0]
        ?.statusCode,
      200,
      host,
    )
  assert.equal(
    own.lines.filter(({ level }) => level === 'error'),
    [],
  )
  await own.stop()
})

test('behind SMART a browser without a token gets 401 as a page that leads to the open start page', async () => {
  const closed = await smartServer({ plugins: [...basic, html, limits, smart] })
  try {
    const page = await closed.inject({ url: '/Patient/p1', headers: { accept: CHROME } })
    assert.is(page.statusCode, 401)
    assert.is(page.headers['www-authenticate'], 'Bearer')
    assert.is(page.headers['content-type'], PAGE)
    assert.match(page.body, /href="\/r4\/metadata"/)
    assert.is((await closed.inject({ url: '/metadata', headers: { accept: CHROME } })).statusCode, 200)
    // The addresses of an authentication are not presented.
    const discovery = await closed.inject({ url: '/.well-known/smart-configuration', headers: { accept: CHROME } })
    assert.match(discovery.headers['content-type'] as string, /^application\/json/)
  } finally {
    await closed.stop()
  }
})

test('a relayed request asks the other server for the page itself', async () => {
  const asked: unknown[] = []
  const Unmade = defineError('relays/unmade', 502, 'exception', 'never')
  const relays = definePlugin({
    name: 'relays',
    errors: { Unmade },
    setup({ hooks }) {
      hooks.relay.tapPromise('answer', async ({ headers, url }) => {
        asked.push([headers.accept, headers['accept-encoding'], url])
        return { status: 200, headers: { 'content-type': PAGE }, body: 'made elsewhere' }
      })
    },
  })
  const replica = await serverWith({ plugins: [...basic, html, metering, relays] })
  try {
    const { body } = await replica.inject({ url: '/_usage?_format=html', headers: { 'accept-encoding': 'gzip' } })
    assert.is(body, 'made elsewhere')
    assert.equal(asked, [['text/html', 'gzip', '/_usage']])
  } finally {
    await replica.stop()
  }
})

test('with [html] enabled = false nothing is shown as a page', async () => {
  const off = await serverWith({ plugins: [...basic, html], settings: { html: { enabled: false } } })
  try {
    const answer = await off.inject({ url: '/metadata', headers: { accept: CHROME } })
    assert.is(answer.headers['content-type'], 'application/fhir+json; charset=utf-8')
  } finally {
    await off.stop()
  }
})

test('an answer of more than a megabyte is named, and not built into a page', async () => {
  const payload = JSON.stringify({ resourceType: 'Patient', id: 'huge', name: [{ family: 'x'.repeat(1_100_000) }] })
  await server.inject({ method: 'PUT', url: '/Patient/huge', headers: FHIR, payload })
  const { body, statusCode } = await open('/Patient/huge')
  assert.is(statusCode, 200)
  assert.ok(body.length < 20_000)
  assert.match(body, /Too large for a page/)
  assert.match(body, /href="\/Patient\/huge\?_format=json"/)
})

test.run()
