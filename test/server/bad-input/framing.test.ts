/** Heads and framing that two programs would read differently, over bare connections. RFC 9112. */
// database: sqlite, because heads and framing are judged before anything is asked of the database
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin } from '../../../kernel/index.ts'
import { exchange } from '../../support/raw-http.ts'
import { assertRefused, assertServes } from '../../support/refused.ts'
import { basic, serverWith, type TestServer } from '../../support/server-with.ts'

const MALFORMED = { status: 400, code: 'structure' } as const
const PATIENT = '{"resourceType":"Patient","active":true}'

/** Says a word for every request, as a request log would. */
const logger = definePlugin({
  name: 'logger',
  setup({ hooks }) {
    hooks.beforeRequest.tap('say it', (request) => {
      request.log.info({ method: request.method }, 'asked')
      return undefined
    })
  },
})

let server: TestServer
let base = ''
test.before(async () => {
  server = await serverWith({ plugins: [...basic, logger], settings: { server: { bind: '127.0.0.1:0' } } })
  base = await server.listen()
})
test.after(() => server.stop())

const METADATA = 'GET /metadata HTTP/1.1\r\nHost: x\r\n'
const POST = 'POST /Patient HTTP/1.1\r\nHost: x\r\nContent-Type: application/fhir+json\r\n'

/** How many versions of Patients there are: what slipped through would be one more. */
const stored = async (): Promise<number> =>
  ((await server.inject('/Patient/_history?_count=1000')).json() as { entry?: unknown[] }).entry?.length ?? 0

test('a head that is too large is refused by what is too large of it (row 38)', async () => {
  for (const [head, status, code] of [
    [`${METADATA}X-Long: ${'a'.repeat(20_000)}\r\n\r\n`, 431, 'too-long'],
    [`${METADATA}${'a'.repeat(20_000)}: x\r\n\r\n`, 431, 'too-long'],
    [`${METADATA}X-Long: ${'a'.repeat(200_000)}\r\n\r\n`, 431, 'too-long'],
    [`${METADATA}${Array.from({ length: 2_500 }, (_, n) => `X-${n}: 1\r\n`).join('')}\r\n`, 431, 'too-long'],
    [`${METADATA}${'X: 1\r\n'.repeat(2_500)}\r\n`, 431, 'too-long'],
    [`${METADATA}${'X: 1\r\n'.repeat(200)}\r\n`, 431, 'too-long'],
    [`GET /Patient/${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 414, 'too-long'],
    [`GET /Patient?name=${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 414, 'too-long'],
    [`GET /${'a/'.repeat(10_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 414, 'too-long'],
    [`GET /${'a'.repeat(200_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, [414, 431], 'too-long'],
  ] as const) {
    const { answers, closed } = await exchange(base, head)
    assert.is(answers.length, 1)
    assertRefused(answers[0]!, { status, code }, head.slice(0, 60))
    assert.ok(closed, head.slice(0, 60))
  }
  // Below the limits it is served.
  const { answers } = await exchange(
    base,
    `${METADATA}X-Long: ${'a'.repeat(8_000)}\r\n${'X: 1\r\n'.repeat(150)}\r\n`,
    1,
  )
  assert.is(answers[0]?.statusCode, 200)
  await assertServes(server, 'row 38')
})

test('a transfer coding beside chunked is refused, and nothing of the body is stored', async () => {
  const before = await stored()
  const chunked = `${PATIENT.length.toString(16)}\r\n${PATIENT}\r\n0\r\n\r\n`
  for (const coding of [
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding: identity, chunked',
    'Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: chunked, chunked',
  ]) {
    const { answers, closed } = await exchange(base, `${POST}${coding}\r\n\r\n${chunked}`)
    assert.is(answers.length, 1, coding)
    assertRefused(answers[0]!, MALFORMED, coding)
    assert.ok(closed, coding)
  }
  assert.is(await stored(), before)
  for (const coding of ['chunked', 'Chunked'])
    assert.is(
      (await exchange(base, `${POST}Transfer-Encoding: ${coding}\r\n\r\n${chunked}`, 1)).answers[0]?.statusCode,
      201,
    )
})

const body = `${PATIENT.length.toString(16)}\r\n${PATIENT}\r\n0\r\n\r\n`
const smuggled = `${POST}Content-Length: ${PATIENT.length}\r\n\r\n${PATIENT}`

test('ambiguous framing is refused, the connection closed, and nothing behind it is taken for a request (row 39)', async () => {
  const before = await stored()
  for (const [about, head] of [
    ['length and chunked', `${POST}Content-Length: ${PATIENT.length}\r\nTransfer-Encoding: chunked\r\n\r\n${body}`],
    ['chunked and length', `${POST}Transfer-Encoding: chunked\r\nContent-Length: ${PATIENT.length}\r\n\r\n${body}`],
    ['two lengths', `${POST}Content-Length: ${PATIENT.length}\r\nContent-Length: 5\r\n\r\n${PATIENT}`],
    ['two equal lengths', `${POST}Content-Length: 40\r\nContent-Length: 40\r\n\r\n${PATIENT}`],
    ['+40', `${POST}Content-Length: +40\r\n\r\n${PATIENT}`],
    ['-1', `${POST}Content-Length: -1\r\n\r\n${PATIENT}`],
    ['40, 40', `${POST}Content-Length: 40, 40\r\n\r\n${PATIENT}`],
    ['40 4', `${POST}Content-Length: 40 4\r\n\r\n${PATIENT}`],
    ['0x28', `${POST}Content-Length: 0x28\r\n\r\n${PATIENT}`],
    ['4e1', `${POST}Content-Length: 4e1\r\n\r\n${PATIENT}`],
    ['empty length', `${POST}Content-Length: \r\n\r\n${PATIENT}`],
    ['huge length', `${POST}Content-Length: 99999999999999999999\r\n\r\n${PATIENT}`],
    ['xchunked', `${POST}Transfer-Encoding: xchunked\r\n\r\n${body}`],
    ['chunked twice', `${POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n${body}`],
    ['chunked, chunked', `${POST}Transfer-Encoding: chunked, chunked\r\n\r\n${body}`],
    ['chunked, identity', `${POST}Transfer-Encoding: chunked, identity\r\n\r\n${body}`],
    ['identity', `${POST}Transfer-Encoding: identity\r\nContent-Length: 40\r\n\r\n${PATIENT}`],
    ['chunked;x', `${POST}Transfer-Encoding: chunked;x=y\r\n\r\n${body}`],
    ['quoted', `${POST}Transfer-Encoding: "chunked"\r\n\r\n${body}`],
    ['space before the colon', `${POST}Content-Length : 40\r\n\r\n${PATIENT}`],
    ['space before the name', `${METADATA} X: y\r\n\r\n`],
    ['folded', `${METADATA}X: a\r\n b\r\n\r\n`],
    ['folded length', `${POST}Content-Length:\r\n 40\r\n\r\n${PATIENT}`],
    ['bare LF', 'GET /metadata HTTP/1.1\nHost: x\n\n'],
    ['one bare LF', `${METADATA}X: y\n\r\n`],
    ['bare CR', `${METADATA}X: a\rY: b\r\n\r\n`],
    ['bare CR behind the line', `GET /metadata HTTP/1.1\rHost: x\r\r`],
    ['NUL in a value', `${METADATA}X: a\0b\r\n\r\n`],
    ['NUL in a name', `${METADATA}X\0: a\r\n\r\n`],
    ['NUL in the address', 'GET /metadata\0 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['control character', `${METADATA}X: a\x1bb\r\n\r\n`],
    ['no colon', `${METADATA}X\r\n\r\n`],
    ['empty name', `${METADATA}: x\r\n\r\n`],
    ['tab', 'GET\t/metadata\tHTTP/1.1\r\nHost: x\r\n\r\n'],
    ['HTTP/1.10', 'GET /metadata HTTP/1.10\r\nHost: x\r\n\r\n'],
    ['http/1.1', 'GET /metadata http/1.1\r\nHost: x\r\n\r\n'],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['noise', '\xff\xfe\x00\x01'.repeat(100)],
  ] as const) {
    const { answers, closed } = await exchange(base, head + smuggled)
    assert.is(answers.length, 1, `${about}: ${answers.length} answers`)
    assertRefused(answers[0]!, MALFORMED, about)
    assert.is(answers[0]?.headers.connection, 'close', about)
    assert.ok(closed, about)
  }
  assert.is(await stored(), before)
  await assertServes(server, 'row 39')
})

test('a second Host or Content-Type, another host in the URL, another version of HTTP are refused (row 40)', async () => {
  const host = new URL(base).host
  for (const [about, head] of [
    ['two hosts', 'GET /metadata HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n'],
    ['the same host twice', 'GET /metadata HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n'],
    ['no host', 'GET /metadata HTTP/1.1\r\n\r\n'],
    ['an empty host', 'GET /metadata HTTP/1.1\r\nHost:\r\n\r\n'],
    ['a path as host', 'GET /metadata HTTP/1.1\r\nHost: x/y?z\r\n\r\n'],
    ['a user as host', 'GET /metadata HTTP/1.1\r\nHost: a@x\r\n\r\n'],
    ['markup as host', 'GET /metadata HTTP/1.1\r\nHost: "><script>\r\n\r\n'],
    ['a port that is none', 'GET /metadata HTTP/1.1\r\nHost: x:y\r\n\r\n'],
    ['another host in the URL', `GET http://evil.example/metadata HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
    ['another port in the URL', `GET http://127.0.0.1:1/metadata HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
    ['a user in the URL', `GET http://127.0.0.1@evil.example/metadata HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
    ['HTTP/0.9', 'GET /metadata\r\n\r\n'],
    ['HTTP/0.9 by name', 'GET /metadata HTTP/0.9\r\nHost: x\r\n\r\n'],
    ['HTTP/2.0', 'GET /metadata HTTP/2.0\r\nHost: x\r\n\r\n'],
    ['two types', `${POST}Content-Type: application/fhir+json\r\nContent-Length: 40\r\n\r\n${PATIENT}`],
    [
      'two encodings',
      `${POST}Content-Encoding: gzip\r\nContent-Encoding: gzip\r\nContent-Length: 40\r\n\r\n${PATIENT}`,
    ],
    [
      'two criteria of a conditional create',
      `${POST}If-None-Exist: identifier=a\r\nIf-None-Exist: identifier=b\r\nContent-Type: application/fhir+json\r\nContent-Length: 40\r\n\r\n${PATIENT}`,
    ],
    ['two authorizations', `${METADATA}Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n`],
  ] as const) {
    const { answers, closed } = await exchange(base, head)
    assert.is(answers.length, 1, about)
    assertRefused(answers[0]!, MALFORMED, about)
    assert.ok(closed, about)
  }
  const absolute = await exchange(base, `GET ${base}/metadata HTTP/1.1\r\nHost: ${host}\r\n\r\n`, 1)
  assert.is(absolute.answers[0]?.statusCode, 200)
  assert.ok(absolute.answers[0]?.body.includes(`"url":"${base}"`))
  const old = await exchange(base, 'GET /metadata HTTP/1.0\r\n\r\n')
  assert.is(old.answers[0]?.statusCode, 200)
  await assertServes(server, 'row 40')
})

test('a body on a GET is no part of it and no request of its own (row 40)', async () => {
  const before = await stored()
  for (const framed of [
    `Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
    `Transfer-Encoding: chunked\r\n\r\n${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`,
  ]) {
    const { answers } = await exchange(base, `${METADATA}${framed}GET /livez HTTP/1.1\r\nHost: x\r\n\r\n`, 2)
    assert.equal(
      answers.map(({ statusCode, body: text }) => [statusCode, text.slice(0, 15)]),
      [
        [200, '{"resourceType"'],
        [200, '{"status":"ok"}'],
      ],
    )
  }
  assert.is(await stored(), before)
})

test('chunks that are larger than a number, or decorated, are refused (row 41)', async () => {
  const before = await stored()
  const chunked = `${POST}Transfer-Encoding: chunked\r\n\r\n`
  for (const [about, chunks, status] of [
    ['10000000000000000', `10000000000000000\r\n${PATIENT}`, 400],
    ['-1', `-1\r\n${PATIENT}`, 400],
    ['+28', `+28\r\n${PATIENT}\r\n0\r\n\r\n`, 400],
    ['0x28', `0x28\r\n${PATIENT}\r\n0\r\n\r\n`, 400],
    ['nothing', `\r\n${PATIENT}\r\n0\r\n\r\n`, 400],
    ['too short', `27\r\n${PATIENT}\r\n0\r\n\r\n`, 400],
    ['bare LF', `28\n${PATIENT}\n0\n\n`, 400],
    ['space', `28 \r\n${PATIENT}\r\n0\r\n\r\n`, 400],
    ['one long extension', `28;a=${'b'.repeat(20_480)}\r\n${PATIENT}\r\n0\r\n\r\n`, 413],
    ['many extensions', `28${';a=b'.repeat(10_000)}\r\n${PATIENT}\r\n0\r\n\r\n`, 413],
    ['long trailer', `28\r\n${PATIENT}\r\n0\r\nX: ${'a'.repeat(200_000)}\r\n\r\n`, 431],
  ] as const) {
    const { answers, closed } = await exchange(base, chunked + chunks)
    assert.is(answers.length, 1, about)
    assertRefused(answers[0]!, { status, code: status === 400 ? 'structure' : 'too-long' }, about)
    assert.ok(closed, about)
  }
  assert.is(await stored(), before)
  const good = await exchange(base, `${chunked}28;a=b\r\n${PATIENT}\r\n0\r\n\r\n`, 1)
  assert.is(good.answers[0]?.statusCode, 201)
  await assertServes(server, 'row 41')
})

test('methods that FHIR does not have are refused with what it has, and none is overridden (row 42)', async () => {
  for (const [head, status] of [
    ['TRACE /metadata', 405],
    ['TRACE /Patient/1', 405],
    ['OPTIONS *', 405],
    ['PROPFIND /Patient/1', 405],
    ['MKCOL /Patient', 405],
    ['LINK /Patient/1', 405],
    ['PURGE /Patient/1', 405],
    ['CONNECT evil.example:443', 405],
    ['FOO /Patient/1', 400],
    ['get /metadata', 400],
    ['G\xc9T /metadata', 400],
  ] as const) {
    const { answers } = await exchange(base, `${head} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    assert.is(answers.length, 1, head)
    assertRefused(answers[0]!, { status, code: status === 405 ? 'not-supported' : 'structure' }, head)
    if (status === 405) assert.match(String(answers[0]?.headers.allow), /GET/, head)
    assert.not.match(String(answers[0]?.body), /evil/)
  }
  const created = await server.inject({
    method: 'POST',
    url: '/Patient',
    headers: { 'content-type': 'application/json' },
    payload: PATIENT,
  })
  const url = new URL(created.headers.location as string).pathname.replace('/_history/1', '')
  for (const name of ['x-http-method-override', 'x-http-method', 'x-method-override']) {
    const read = await server.inject({ url, headers: { [name]: 'DELETE' } })
    assert.is(read.statusCode, 200)
    assert.is(read.body, created.body)
    const post = await server.inject({
      method: 'POST',
      url,
      headers: { [name]: 'DELETE', 'content-type': 'application/json' },
      payload: PATIENT,
    })
    assert.is(post.statusCode, 405)
  }
  assert.is((await server.inject(url)).headers.etag, 'W/"1"')
  assertRefused(
    (await exchange(base, `${METADATA}Expect: tea\r\n\r\n`)).answers[0]!,
    { status: 417, code: 'not-supported' },
    'Expect',
  )
  await assertServes(server, 'row 42')
})

test('an X-Request-Id that is no word is replaced, and no line of the log is broken by it (row 43)', async () => {
  const FRESH = /^[0-9a-f]{8}-[0-9a-f-]{27}$/
  for (const given of [
    '[31mred',
    'a"b',
    "a'b",
    '{"level":"fatal"}',
    'a\\nb',
    'a b',
    'a\tb',
    '<script>',
    '\xe9',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: some loggers fill such templates in
    '${jndi:ldap://x}',
    '%0d%0aSet-Cookie:%20a=b',
    'a'.repeat(129),
    'a'.repeat(10_000),
    '',
    '-',
  ]) {
    const { id, statusCode } = await askWithId(given)
    assert.is(statusCode, 200, given.slice(0, 40))
    assert.match(id, FRESH, given.slice(0, 40))
    assert.is(server.lines.at(-1)?.request, id)
  }
  // CR and LF end the header: what follows is another one, or no HTTP at all.
  const split = await askWithId('good\r\nX-Request-Id: second')
  assert.match(split.id, FRESH)
  for (const control of ['\r', '\n', '\0', '\x1b', '\x1b[31m', '\x08', '\x7f']) {
    const broken = await exchange(base, `${METADATA}X-Request-Id: a${control}b\r\n\r\n`)
    assertRefused(broken.answers[0]!, MALFORMED, JSON.stringify(control))
  }
  for (const kept of ['a', '0af7651916cd43dd8448eb211c80319c', 'req-1.2:3/4_5~6+7=', 'a'.repeat(128)]) {
    assert.is((await askWithId(kept)).id, kept)
    assert.is(server.lines.at(-1)?.request, kept)
  }
  for (const line of server.lines) assert.type(line.level, 'string')
  await assertServes(server, 'row 43')
})

const askWithId = async (id: string): Promise<{ readonly id: string; readonly statusCode: number | undefined }> => {
  const { answers } = await exchange(base, `${METADATA}X-Request-Id: ${id}\r\n\r\n`, 1)
  return { id: String(answers[0]?.headers['x-request-id']), statusCode: answers[0]?.statusCode }
}

test('two requests with one X-Request-Id are both served and both logged (row 83)', async () => {
  const before = server.lines.length
  const answers = await Promise.all([askWithId('same'), askWithId('same')])
  assert.equal(answers, [
    { id: 'same', statusCode: 200 },
    { id: 'same', statusCode: 200 },
  ])
  const lines = server.lines.slice(before).filter(({ request }) => request === 'same')
  assert.is(lines.length, 2)
})

test('a body that is announced by its type and never comes is refused as an empty one', async () => {
  for (const head of ['POST /Patient', 'PUT /Patient/p1', 'POST /']) {
    const type = 'Content-Type: application/fhir+json\r\n'
    const { answers } = await exchange(base, `${head} HTTP/1.1\r\nHost: x\r\n${type}\r\n`, 1)
    assertRefused(answers[0]!, MALFORMED, head)
  }
  await assertServes(server, 'no body')
})

test('probes have the limits of every other address', async () => {
  for (const probe of ['/livez', '/readyz', '/healthz'])
    for (const [head, status] of [
      [`GET ${probe} HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
      [`GET ${probe} HTTP/1.1\r\nHost: x\r\n${'X: 1\r\n'.repeat(2_500)}\r\n`, 431],
      [`GET ${probe}?a=${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 414],
      [`GET ${probe} HTTP/2.0\r\nHost: x\r\n\r\n`, 400],
      [`GET ${probe} HTTP/1.1\r\n\r\n`, 400],
      [`GET ${probe} HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n`, 400],
    ] as const) {
      const { answers, closed } = await exchange(base, head)
      assert.is(answers[0]?.statusCode, status, head.slice(0, 60))
      assert.ok(closed)
    }
  const { answers } = await exchange(base, 'GET /livez HTTP/1.0\r\n\r\n')
  assert.is(answers[0]?.statusCode, 200, 'HTTP/1.0 has no Host')
})

test.run()
