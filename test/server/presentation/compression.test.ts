/**
 * Answers are compressed where the client accepts it: searches, histories, Bundles, operations, /metadata and what shows
 * the use of the server. What is small, stored as gzip already, or sent by another plugin stays as it is.
 */
// database: sqlite, because answers are compressed when they are made
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin, type Usage } from '../../../kernel/index.ts'
import audit from '../../../plugins/audit/index.ts'
import metering from '../../../plugins/metering/index.ts'
import { exchange } from '../../support/raw-http.ts'
import { basic, serverWith, type TestServer } from '../../support/server-with.ts'

const FHIR = { 'content-type': 'application/fhir+json' }
const used: Usage[] = []
let server: TestServer
let address: string

const secret = definePlugin({
  name: 'third-party',
  setup({ hooks, routes }) {
    hooks.meter.tap('keep', (usage) => void used.push(usage))
    hooks.arrive.tap('vary', (request) => {
      if (request.headers.origin !== undefined) request.varyBy('origin')
      return undefined
    })
    routes((app, _options, done) => {
      app.get('/secret', async (_request, reply) => reply.type('text/html').send('<p>csrf</p>'.repeat(1_000)))
      app.get('/strong', { config: { compress: true } }, async (_request, reply) =>
        reply
          .type('application/json')
          .header('etag', '"1"')
          .send(JSON.stringify('x'.repeat(5_000))),
      )
      app.get('/packed', { config: { compress: true } }, async (_request, reply) =>
        reply.type('application/json').header('content-encoding', 'br').send('x'.repeat(5_000)),
      )
      app.get('/events', { config: { compress: true } }, async (_request, reply) =>
        reply.type('text/event-stream').send(`data: ${'x'.repeat(5_000)}\n\n`),
      )
      done()
    })
  },
})

test.before(async () => {
  server = await serverWith({
    plugins: [...basic, audit, metering, secret],
    settings: {
      conformance: { update_as_create: true },
      server: { bind: '127.0.0.1:0' },
    },
  })
  address = await server.listen()
  const entry = Array.from({ length: 40 }, (_, at) => ({
    resource: { resourceType: 'Patient', id: `p${at}`, name: [{ family: `Münster ${at}` }] },
    request: { method: 'PUT', url: `Patient/p${at}` },
  }))
  const payload = JSON.stringify({ resourceType: 'Bundle', type: 'transaction', entry })
  const answer = await server.inject({ method: 'POST', url: '/', headers: FHIR, payload })
  assert.is(answer.statusCode, 200)
})
test.after(() => server.stop())

const ask = (url: string, coding: string | undefined, method: 'GET' | 'HEAD' = 'GET') =>
  server.inject({ method, url, headers: coding === undefined ? {} : { 'accept-encoding': coding } })

/** Without what is made for each answer. */
const settled = (text: string): string =>
  text.replaceAll(/"id":"[0-9a-f-]{36}"|"lastUpdated":"[^"]*"|"date":"[^"]*"|_page=[^"&]*/g, '')

for (const url of [
  '/Patient',
  '/Patient?_sort=-_lastUpdated',
  '/?_type=Patient',
  '/_history',
  '/Patient/_history',
  '/metadata',
])
  test(`GET ${url} is compressed as the client asks, and holds the same`, async () => {
    const plain = await ask(url, undefined)
    assert.is(plain.headers['content-encoding'], undefined)
    assert.is(plain.headers.vary, 'accept, accept-encoding')
    const gzip = await ask(url, 'gzip, deflate')
    assert.is(gzip.headers['content-encoding'], 'gzip')
    assert.is(gzip.headers.vary, 'accept, accept-encoding')
    assert.is(Number(gzip.headers['content-length']), gzip.rawPayload.length)
    assert.ok(gzip.rawPayload.length * 3 < plain.rawPayload.length)
    assert.is(settled(gunzipSync(gzip.rawPayload).toString()), settled(plain.body))
    const zstd = await ask(url, 'gzip, deflate, br, zstd')
    assert.is(zstd.headers['content-encoding'], 'zstd')
    assert.is(settled(zstdDecompressSync(zstd.rawPayload).toString()), settled(plain.body))
  })

for (const [header, coding] of [
  ['zstd;q=0.5, gzip', 'gzip'],
  ['gzip;q=0.5, zstd;q=0.6', 'zstd'],
  ['gzip;q=0, zstd;q=0', undefined],
  ['x-gzip', 'gzip'],
  ['*', 'zstd'],
  ['*;q=0.5, zstd;q=0', 'gzip'],
  ['identity, gzip;q=0.5', undefined],
  ['identity;q=0.5, gzip', 'gzip'],
  ['GZIP ; Q=0.8', 'gzip'],
  ['gzip;q=nonsense', undefined],
  ['br, deflate', undefined],
  ['', undefined],
] as const)
  test(`Accept-Encoding: ${header} is answered with ${coding ?? 'no coding'}`, async () => {
    assert.is((await ask('/Patient?_sort=-_lastUpdated', header)).headers['content-encoding'], coding)
  })

test('$everything, the answer to a Bundle, /_audit and its lines, and /_usage are compressed', async () => {
  const entry = Array.from({ length: 40 }, () => ({ request: { method: 'GET', url: 'Patient/p1' } }))
  const headers = { ...FHIR, 'accept-encoding': 'gzip' }
  const payload = JSON.stringify({ resourceType: 'Bundle', type: 'batch', entry })
  const batch = await server.inject({ method: 'POST', url: '/', headers, payload })
  assert.is(JSON.parse(gunzipSync(batch.rawPayload).toString()).entry.length, 40)
  const asked = async (url: string): Promise<string> => {
    const answer = await ask(url, 'gzip')
    assert.is(answer.headers['content-encoding'], 'gzip', url)
    return gunzipSync(answer.rawPayload).toString()
  }
  assert.is(JSON.parse(await asked('/_audit')).resourceType, 'Bundle')
  assert.is(JSON.parse((await asked('/_audit?_format=ndjson')).split('\n')[0] as string).resourceType, 'AuditEvent')
})

test('a HEAD has the head of the GET, and no body', async () => {
  const head = await ask('/Patient/_history', 'gzip', 'HEAD')
  assert.is(head.headers['content-encoding'], 'gzip')
  assert.is(head.headers.vary, 'accept, accept-encoding')
  assert.is(head.rawPayload.length, 0)
})

test('small answers, errors, single resources and what has a coding stay as they are', async () => {
  for (const url of ['/Patient?_id=p1', '/Patient/p1', '/Patient/none', '/events', '/secret'])
    assert.is((await ask(url, 'gzip, zstd')).headers['content-encoding'], undefined, url)
  assert.is((await ask('/secret', 'gzip')).headers.vary, undefined)
  const packed = await ask('/packed', 'gzip')
  assert.is(packed.headers['content-encoding'], 'br')
  assert.is(packed.rawPayload.length, 5_000)
})

test('a strong validator becomes a weak one', async () => {
  assert.is((await ask('/strong', undefined)).headers.etag, '"1"')
  assert.is((await ask('/strong', 'gzip')).headers.etag, 'W/"1"')
})

test('a direct answer is compressed too, and usage counts the bytes on the wire', async () => {
  used.length = 0
  const asks = (coding: string): string =>
    `GET /Patient?_count=40 HTTP/1.1\r\nHost: a\r\nOrigin: https://a.example.org\r\nAccept-Encoding: ${coding}\r\nConnection: close\r\n\r\n`
  const plain = (await exchange(address, asks('identity'))).text
  const gzip = (await exchange(address, asks('gzip'))).text
  assert.match(gzip, /\r\ncontent-encoding: gzip\r\n/)
  assert.match(gzip, /\r\nvary: accept, accept-encoding, origin\r\n/i)
  assert.match(plain, /\r\nvary: accept, accept-encoding, origin\r\n/i)
  const [first, second] = used.map(({ bytesOut }) => bytesOut)
  assert.ok((second as number) * 3 < (first as number), `${first} ${second}`)
})

test('compress_from_bytes = 0 compresses nothing and says nothing of it', async () => {
  const off = await serverWith({ settings: { server: { compress_from_bytes: 0 } } })
  try {
    const answer = await off.inject({ url: '/metadata', headers: { 'accept-encoding': 'gzip' } })
    assert.is(answer.headers['content-encoding'], undefined)
    assert.is(answer.headers.vary, 'accept')
  } finally {
    await off.stop()
  }
})

test.run()
