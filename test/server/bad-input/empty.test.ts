/** A server without packages knows no resource type; bad input meets the same refusals there, and no 500. */
// database: sqlite, because without packages nothing is asked of the database
import { gzipSync } from 'node:zlib'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import probes from '../../../plugins/probes/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { exchange } from '../../support/raw-http.ts'
import { assertRefused } from '../../support/refused.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

let server: TestServer
let base = ''
test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions([]), ...fhirPlugins, probes],
    settings: {
      server: { bind: '127.0.0.1:0' },
      database: { kind: 'memory' },
      conformance: { update_as_create: true },
    },
  })
  base = await server.listen()
})
test.after(() => server.stop())

const JSON_TYPE = { 'content-type': 'application/fhir+json' }
const PATIENT = '{"resourceType":"Patient","id":"a"}'

test('it says what it is: ready, with no resource type (row 84)', async () => {
  assert.is((await server.inject('/readyz')).statusCode, 200)
  const statement = await server.inject('/metadata')
  assert.is(statement.statusCode, 200)
  assert.is(statement.json().rest[0].resource, undefined)
  const history = await server.inject('/_history')
  assert.is(history.statusCode, 200)
  assert.is(history.json().entry, undefined)
})

test('every interaction with a type is 404 (row 84)', async () => {
  const unknown = { status: 404, code: ['not-supported', 'not-found'] } as const
  for (const [method, url] of [
    ['GET', '/Patient/a'],
    ['GET', '/Patient/a/_history'],
    ['GET', '/Patient/a/_history/1'],
    ['GET', '/Patient/_history'],
    ['GET', '/Patient?name=x'],
    ['GET', '/Patient/a/Observation'],
    ['DELETE', '/Patient/a'],
    ['PUT', '/Patient/a'],
    ['POST', '/Patient'],
    ['GET', '/Binary/a'],
    ['GET', '/__proto__/a'],
    ['POST', '/Patient/_search'],
  ] as const) {
    const headers = url.endsWith('_search') ? { 'content-type': 'application/x-www-form-urlencoded' } : JSON_TYPE
    const send = method === 'GET' || method === 'DELETE' ? {} : { headers, payload: PATIENT }
    assertRefused(await server.inject({ method, url, ...send }), unknown, `${method} ${url}`)
  }
})

test('bad bodies, queries and heads are refused, none is a 500 (row 84)', async () => {
  const bodies = [
    '',
    '{',
    '[]',
    '{"a":1,"a":2}',
    '{"__proto__":1}',
    '"\\u0000"',
    '1e400',
    '['.repeat(100_000),
    PATIENT,
    Buffer.from([0xff, 0xfe]),
    gzipSync(PATIENT),
  ]
  for (const payload of bodies)
    for (const [method, url] of [
      ['POST', '/Patient'],
      ['PUT', '/Patient/a'],
      ['POST', '/'],
      ['POST', '/_history'],
    ] as const)
      for (const headers of [
        JSON_TYPE,
        { 'content-type': 'text/plain' },
        { ...JSON_TYPE, 'content-encoding': 'gzip' },
      ]) {
        const { statusCode } = await server.inject({ method, url, headers, payload })
        assert.ok(statusCode >= 400 && statusCode < 500, `${method} ${url} ${statusCode}`)
      }
  for (const url of [
    '/_history?_at=9999',
    '/_history?_count=0',
    '/_history?_at=',
    '/metadata?_format=bogus',
    '/metadata?x=1',
    '/?_type=Patient',
    '/?_count=-1',
    '/?%00=1',
    '/?_id=%FF',
    '/%E0%A4%A',
    '/Patient/%00',
  ]) {
    const { statusCode } = await server.inject(url)
    assert.ok(statusCode >= 400 && statusCode < 500, `${url} ${statusCode}`)
  }
  assertRefused(
    await server.inject({ url: '/metadata', headers: { accept: 'text/html' } }),
    { status: 406, code: 'not-supported' },
    'Accept',
  )
  for (const head of [
    'GET /metadata HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n',
    `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
    'POST /Patient HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n',
    'noise',
    'noise\r\n\r\n',
  ]) {
    const { answers } = await exchange(base, `${head}\r\n\r\n`)
    assert.ok((answers[0]?.statusCode ?? 0) >= 400 && (answers[0]?.statusCode ?? 0) < 500, head.slice(0, 40))
  }
  assert.is((await server.inject('/metadata')).statusCode, 200)
  assert.equal(
    server.lines.filter(({ level }) => level === 'error'),
    [],
  )
})

test.run()
