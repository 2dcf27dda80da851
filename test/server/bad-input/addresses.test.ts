/** Addresses, methods, preconditions and the parameters of history and vread. https://hl7.org/fhir/R4/http.html */
// database: sqlite, because addresses and methods are read before anything is asked of the database
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { exchange } from '../../support/raw-http.ts'
import { assertRefused, assertServes } from '../../support/refused.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'

const JSON_TYPE = { 'content-type': 'application/fhir+json' }
const NOT_FOUND = { status: 404, code: 'not-found' } as const

let server: TestServer
let base = ''
let id = ''
test.before(async () => {
  server = await serverWith({ settings: { server: { bind: '127.0.0.1:0' } } })
  base = await server.listen()
  const payload = '{"resourceType":"Patient","active":true}'
  const created = await server.inject({ method: 'POST', url: '/Patient', headers: JSON_TYPE, payload })
  id = (created.json() as { id: string }).id
})
test.after(() => server.stop())

const patient = (active: boolean): string => `{"resourceType":"Patient","id":"${id}","active":${active}}`
const put = (headers: Record<string, string>, payload = patient(true)) =>
  server.inject({ method: 'PUT', url: `/Patient/${id}`, headers: { ...JSON_TYPE, ...headers }, payload })

test('an address that leaves its place, or is none, finds nothing (row 44)', async () => {
  const nowhere = { status: [400, 404], code: ['not-found', 'value', 'structure'] } as const
  for (const target of [
    '/Patient/..%2f..%2fetc/passwd',
    '/Patient/..%2F..%2F..%2Fetc%2Fpasswd',
    '/Patient/../../etc/passwd',
    '/Patient/..',
    '/Patient/..%5c..%5c',
    '/..%2fetc%2fpasswd',
    '/../../etc/passwd',
    '/%2e%2e',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/Patient/%2e%2e/Patient',
    '/%00',
    '/Patient/%00',
    '/Patient%00',
    '//Patient',
    `//Patient/${id}`,
    `/Patient//${id}`,
    `/Patient/${id}//_history`,
    `/Patient/${id}/_history//`,
    '///',
    '/Patient/%E0%A4%A',
    '/Patient/%',
    '/Patient/%zz',
    '/Patient/%C0%AF',
    '/Patient/%FF',
    '/%',
    '/%E0%A4%A?_format=json',
    `/Patient;x=1/${id}`,
    '/Patient/a\\b',
    '/.git/config',
    '/server.toml',
    '/favicon.ico',
    '/_nothing',
    '/$',
    '/_audit/../metadata',
    '/file:/etc/passwd',
  ]) {
    const { answers } = await exchange(base, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    assert.is(answers.length, 1, target)
    const text = assertRefused(answers[0]!, nowhere, target)
    assert.not.match(text, /root:|:0:0:/, target)
  }
  await assertServes(server, 'row 44')
})

test('a request target in a form that its method does not take is refused (RFC 9112, section 3.2)', async () => {
  const { host } = new URL(base)
  const ask = (line: string, head = `Host: ${host}\r\n`) =>
    exchange(base, `${line}\r\n${head}Connection: close\r\n\r\n`)
  for (const line of [
    'GET * HTTP/1.1',
    'HEAD * HTTP/1.1',
    'POST * HTTP/1.1',
    'DELETE * HTTP/1.1',
    'GET *?name=x HTTP/1.1',
    'GET *Patient HTTP/1.1',
    `GET ${host} HTTP/1.1`,
    'GET x:80 HTTP/1.1',
    `GET ftp://${host}/metadata HTTP/1.1`,
    `GET http://user:password@${host}/metadata HTTP/1.1`,
  ]) {
    const { answers } = await ask(line)
    assert.is(answers.length, 1, line)
    // An answer to HEAD has no body to look at.
    if (line.startsWith('HEAD')) assert.is(answers[0]?.statusCode, 400)
    else assertRefused(answers[0]!, { status: 400, code: 'structure' }, line)
  }
  for (const line of ['GET * HTTP/1.0', 'GET *Patient HTTP/1.0', 'GET ftp://x/metadata HTTP/1.0'])
    assertRefused((await ask(line, '')).answers[0]!, { status: 400, code: 'structure' }, line)
  // The same authority, written in another way.
  for (const [target, given] of [
    [`${base}/metadata`, host],
    ['http://example.org/metadata', 'Example.ORG'],
    ['http://example.org/metadata', 'example.org:80'],
    ['https://example.org:443/metadata', 'example.org'],
  ])
    assert.is((await ask(`GET ${target} HTTP/1.1`, `Host: ${given}\r\n`)).answers[0]?.statusCode, 200, target)
  assert.is((await ask('OPTIONS * HTTP/1.1')).answers[0]?.statusCode, 405)
  await assertServes(server, 'request target')
})

test('a method that an address does not take is refused with those it takes (row 45)', async () => {
  const payload = patient(true)
  for (const [method, url, allow] of [
    ['PUT', '/Patient', /GET.*POST/],
    ['DELETE', '/Patient', /GET.*POST/],
    ['PATCH', '/Patient', /GET.*POST/],
    ['POST', `/Patient/${id}`, /GET.*PUT.*DELETE/],
    ['POST', `/Patient/${id}/_history`, /^GET, HEAD$/],
    ['PUT', `/Patient/${id}/_history/1`, /^GET, HEAD$/],
    ['DELETE', `/Patient/${id}/_history/1`, /^GET, HEAD/],
    ['POST', '/metadata', /^GET, HEAD$/],
    ['PUT', '/_history', /^GET, HEAD$/],
    ['DELETE', '/_history', /^GET, HEAD$/],
    ['OPTIONS', '/Patient', /GET.*POST/],
  ] as const) {
    const answer = await server.inject({ method, url, headers: JSON_TYPE, payload })
    assertRefused(answer, { status: [405, 412], code: ['not-supported', 'required'] }, `${method} ${url}`)
    if (answer.statusCode === 405) assert.match(answer.headers.allow as string, allow, `${method} ${url}`)
  }
  assert.is((await server.inject(`/Patient/${id}`)).headers.etag, 'W/"1"')
  await assertServes(server, 'row 45')
})

test('an update of what does not exist is 405 while update_as_create is off (row 46)', async () => {
  for (const missing of ['missing', 'a'.repeat(64), '1']) {
    const answer = await server.inject({
      method: 'PUT',
      url: `/Patient/${missing}`,
      headers: JSON_TYPE,
      payload: `{"resourceType":"Patient","id":"${missing}"}`,
    })
    assertRefused(answer, { status: 405, code: 'not-supported' }, missing)
    assertRefused(await server.inject(`/Patient/${missing}`), NOT_FOUND, missing)
  }
  await assertServes(server, 'row 46')
})

test('a precondition that is not met or not understood changes nothing (row 67)', async () => {
  const unmet = { status: 412, code: 'conflict' } as const
  const malformed = { status: 400, code: 'value' } as const
  for (const [value, expected] of [
    ['W/"2"', unmet],
    ['W/"0"', unmet],
    ['W/"-1"', unmet],
    ['W/"01"', unmet],
    ['W/"1e0"', unmet],
    ['W/"1.0"', unmet],
    ['W/"99999999999999999999"', unmet],
    ['W/""', unmet],
    ['""', unmet],
    ['"abc"', unmet],
    ['W/"2", W/"3"', unmet],
    ['1', malformed],
    ['W/1', malformed],
    ['W/"1', malformed],
    ['1"', malformed],
    ['w/"1"', malformed],
    ['W/"1"x', malformed],
    ['W/"1";', malformed],
    ['*, W/"1"', malformed],
    ['', malformed],
    [',', malformed],
    [`W/"${'1'.repeat(10_000)}"`, malformed],
    ['"'.repeat(10_000), malformed],
    [' '.repeat(10_000), malformed],
    [`${'W/"2",'.repeat(1_600)}W/"1"`, malformed],
  ] as const) {
    const about = value.slice(0, 40)
    assertRefused(await put({ 'if-match': value }), expected, `PUT ${about}`)
    const deletion = await server.inject({ method: 'DELETE', url: `/Patient/${id}`, headers: { 'if-match': value } })
    assertRefused(deletion, expected, `DELETE ${about}`)
  }
  for (const value of ['x', '1', 'W/"1', '"'.repeat(10_000), ',', '*,*', '']) {
    const read = await server.inject({ url: `/Patient/${id}`, headers: { 'if-none-match': value } })
    assertRefused(read, malformed, `If-None-Match ${value.slice(0, 40)}`)
    assertRefused(await put({ 'if-none-match': value }), malformed, `PUT If-None-Match ${value.slice(0, 40)}`)
  }
  assertRefused(await put({ 'if-none-match': '*' }), unmet, 'it exists')
  const missing = {
    method: 'PUT',
    url: '/Patient/missing',
    payload: '{"resourceType":"Patient","id":"missing"}',
  } as const
  for (const value of ['*', 'W/"1"'])
    assertRefused(
      await server.inject({ ...missing, headers: { ...JSON_TYPE, 'if-match': value } }),
      unmet,
      `missing ${value}`,
    )
  assert.is((await server.inject(`/Patient/${id}`)).headers.etag, 'W/"1"')
  // A date that is none is no condition. RFC 9110, section 13.1.3.
  for (const value of ['', 'yesterday', '9999-99-99', 'a'.repeat(10_000), '-1', 'Sun, 06 Nov 1994 08:49:37 GMT; x'])
    assert.is((await server.inject({ url: `/Patient/${id}`, headers: { 'if-modified-since': value } })).statusCode, 200)
  assert.is((await put({ 'if-match': ' W/"7" , W/"1"' })).statusCode, 200)
  assert.is((await put({ 'if-match': '*' }, patient(false))).statusCode, 200)
  assert.is((await put({ 'if-match': '"3"' })).statusCode, 200)
  await assertServes(server, 'row 67')
})

test('the parameters of a history are checked and the version of a vread is a number from one on (row 82)', async () => {
  const value = { status: 400, code: 'value' } as const
  for (const scope of [`/Patient/${id}`, '/Patient', '']) {
    for (const query of [
      '_since=99999-01-01',
      '_since=yesterday',
      '_since=',
      '_since=2024-02-30',
      '_since=2024-01-01T25:00:00Z',
      '_since=0000-01-01',
      '_since=1e3',
      '_since=%00',
      "_since=' OR 1=1--",
      '_since=2020&_since=2021',
      '_at=',
      '_at=9999',
      '_at=x',
      '_at=2024-13-01',
      '_count=0',
      '_count=-1',
      '_count=1e3',
      '_count=1.5',
      '_count=abc',
      '_count=',
      '_count=9999999999999999999',
      '_count=%2B1',
      '_page=0',
      '_page=1',
      '_page=9999999999999999',
      '_page=-1',
      '_page=1e3',
      '_page=99999999999999999999',
      '_page=',
      '_page=1;DROP TABLE resource',
    ])
      assertRefused(await server.inject(`${scope}/_history?${encodeURI(query)}`), value, `${scope} ${query}`)
    assertRefused(await server.inject(`${scope}/_history?_bogus=1`), { status: 400, code: 'not-supported' }, scope)
    for (const query of ['_count=999999999', '_since=0001', '_at=0001-01-01', '_since=1900-01-01T00:00:00%2B14:00'])
      assert.is((await server.inject(`${scope}/_history?${query}`)).statusCode, 200, `${scope} ${query}`)
  }
  for (const version of [
    '-1',
    '0',
    '1e3',
    '1e0',
    '01',
    '1.0',
    '9223372036854775808',
    '9999999999',
    '2147483648',
    '%2B1',
    'abc',
    '%00',
    ' ',
    "1'",
    '__proto__',
    'a'.repeat(5_000),
  ])
    assertRefused(
      await server.inject(`/Patient/${id}/_history/${encodeURI(version)}`),
      { status: 404, code: 'not-found' },
      version.slice(0, 40),
    )
  await assertServes(server, 'row 82')
})

const HTML = '<html><script>alert(document.domain)</script></html>'

test('a document in a Binary never becomes a page of this server (row 76)', async () => {
  const store = async (contentType: string, data = Buffer.from(HTML).toString('base64')): Promise<string> => {
    const payload = JSON.stringify({ resourceType: 'Binary', contentType, data })
    const answer = await server.inject({ method: 'POST', url: '/Binary', headers: JSON_TYPE, payload })
    assert.is(answer.statusCode, 201, answer.body)
    assert.is(answer.headers['content-security-policy'], "sandbox; default-src 'none'")
    return (answer.json() as { id: string }).id
  }
  const html = await store('text/html')
  for (const [accept, type] of [
    ['*/*', 'text/html'],
    ['application/fhir+json', 'application/fhir+json; charset=utf-8'],
    ['application/json', 'application/fhir+json; charset=utf-8'],
    ['text/html,application/json;q=0.9', 'text/html'],
    ['text/html', 'text/html'],
    ['text/html, image/*', 'text/html'],
  ] as const)
    for (const url of [`/Binary/${html}`, `/Binary/${html}/_history/1`]) {
      const { statusCode, headers, body } = await server.inject({ url, headers: { accept } })
      assert.is(statusCode, 200, accept)
      assert.is(headers['content-type'], type, accept)
      assert.is(headers['x-content-type-options'], 'nosniff', accept)
      assert.is(headers['content-security-policy'], "sandbox; default-src 'none'", accept)
      assert.is(headers['content-disposition'], 'attachment', accept)
      assert.is(body.includes('<script>'), type === 'text/html', accept)
    }
  // Another type than the content has, none at all, or FHIR by name.
  for (const accept of ['image/png', 'application/fhir+turtle', 'text/html;q=0'])
    assertRefused(
      await server.inject({ url: `/Binary/${html}`, headers: { accept } }),
      { status: 406, code: 'not-supported' },
      accept,
    )
  const byFormat = await server.inject({ url: `/Binary/${html}?_format=json`, headers: { accept: 'text/html' } })
  assert.match(byFormat.headers['content-type'] as string, /fhir\+json/)
  for (const contentType of [
    'text/html\r\nset-cookie: a=b',
    'text/html; x="\r\n"',
    'é/é',
    'html',
    `a/${'b'.repeat(5_000)}`,
  ]) {
    const one = await store(contentType)
    const { statusCode, headers, body } = await server.inject({
      url: `/Binary/${one}`,
      headers: { accept: 'application/octet-stream' },
    })
    assert.is(statusCode, 200, contentType.slice(0, 40))
    assert.is(headers['content-type'], 'application/octet-stream')
    assert.is(headers['set-cookie'], undefined)
    assert.is(body, HTML)
  }
  // The same document elsewhere: as text of a resource, with a browser told not to guess.
  const media = await server.inject({
    method: 'POST',
    url: '/Patient',
    headers: JSON_TYPE,
    payload: JSON.stringify({
      resourceType: 'Patient',
      photo: [{ contentType: 'text/html', data: Buffer.from(HTML).toString('base64') }],
    }),
  })
  assert.is(media.headers['x-content-type-options'], 'nosniff')
  await assertServes(server, 'row 76')
})

test('the dollar of an operation may be encoded', async () => {
  for (const [plain, encoded] of [
    [`/Patient/${id}/$everything`, `/Patient/${id}/%24everything`],
    ['/Patient/$everything', '/Patient/%24everything'],
    [`/Patient/${id}/$meta`, `/Patient/${id}/%24meta`],
    [`/Patient/${id}/$meta`, `/Patient/${id}/%24meta/`],
    ['/$meta', '/%24meta'],
    ['/Patient/$nothing', '/Patient/%24nothing'],
  ] as const) {
    const [one, other] = [await server.inject(plain), await server.inject(encoded)]
    assert.is(other.statusCode, one.statusCode, encoded)
    assert.is(other.json().resourceType, one.json().resourceType, encoded)
    assert.is(other.json().issue?.[0].details?.text, one.json().issue?.[0].details?.text, encoded)
  }
  const refused = await server.inject({ method: 'DELETE', url: `/Patient/${id}/%24everything` })
  assert.is(refused.statusCode, 405)
})

test('a value that names no type is told so, whatever it is', async () => {
  for (const name of ['__proto__', 'constructor', 'a-b', 'Nothing'])
    for (const url of [`/?_type=${name},Patient`, `/Patient/${id}/$everything?_type=${name}`]) {
      const answer = await server.inject(url)
      assertRefused(answer, { status: 404, code: 'not-supported' }, url)
      assert.match(answer.body, name)
    }
})

test.run()
