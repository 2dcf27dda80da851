/** Content types, encodings and sizes of bodies; the forms an answer is asked for in. RFC 9110, sections 8 and 12. */
// database: sqlite, because what is refused or cut does not reach the database
import { randomBytes } from 'node:crypto'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { exchange, openSocket, readAnswers } from '../../support/raw-http.ts'
import { assertRefused, assertServes } from '../../support/refused.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'

const MEGA = 1024 * 1024
const MOST = 4 * MEGA // bytes of a body
const PATIENT = '{"resourceType":"Patient","active":true}'
const UNSUPPORTED = { status: 415, code: 'not-supported' } as const
const CORRUPT = { status: 400, code: 'structure' } as const
const TOO_LONG = { status: 413, code: 'too-long' } as const

let server: TestServer
let base = ''
test.before(async () => {
  server = await serverWith({ settings: { server: { bind: '127.0.0.1:0' }, fhir: { max_body_bytes: MOST } } })
  base = await server.listen()
})
test.after(() => server.stop())

const post = (payload: string | Buffer, headers: Record<string, string>) =>
  server.inject({ method: 'POST', url: '/Patient', headers, payload })
const encoded = (payload: Buffer, encoding: string) =>
  post(payload, { 'content-type': 'application/fhir+json', 'content-encoding': encoding })

test('a patch without a type of its own is told which there are', async () => {
  const line = `PATCH /Patient/a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n`
  for (const type of [
    '',
    'Content-Type:\r\n',
    'Content-Type: \r\n',
    'Content-Type: /\r\n',
    'Content-Type: text/plain\r\n',
  ]) {
    const [answer] = (await exchange(base, `${line}${type}\r\n[]`, 1)).answers
    assertRefused(answer!, UNSUPPORTED, type)
    assert.match(String(answer?.headers['accept-patch']), 'application/json-patch+json', type)
  }
})

test('a body is invited by 100 when it is read, and not where its head is refused', async () => {
  const ask = (length: number, more = '', url = '/Patient') =>
    `POST ${url} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Type: application/fhir+json\r\n${more}Content-Length: ${length}\r\n\r\n`
  for (const [what, head, status] of [
    ['too large', ask(99_999_999), 413],
    ['another encoding', ask(40, 'Content-Encoding: br\r\n'), 415],
    ['no such address', ask(40, '', '/nowhere/at/all/x'), 404],
  ] as const) {
    const { text, answers, closed } = await exchange(base, head)
    assert.is(answers[0]?.statusCode, status, what)
    assert.not.match(text, '100 Continue', what)
    assert.is(answers[0]?.headers.connection, 'close', what)
    assert.ok(closed, what)
  }
  const socket = await openSocket(base)
  let text = ''
  const invited = new Promise<void>((resolve, reject) => {
    socket.on('data', (chunk) => {
      text += chunk
      if (text.includes('100 Continue')) resolve()
    })
    socket.on('close', () => reject(new Error(text)))
  })
  socket.write(ask(PATIENT.length))
  await invited
  assert.equal(readAnswers(text), [])
  socket.write(`${PATIENT}GET /livez HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`)
  await new Promise((resolve) => socket.once('end', resolve))
  socket.destroy()
  assert.equal(
    readAnswers(text).map(({ statusCode }) => statusCode),
    [201, 200],
  )
})

test('a body of another media type, or of none, is refused (row 30)', async () => {
  for (const type of [
    'text/plain',
    'text/html',
    'text/plain; charset=utf-8',
    'multipart/form-data; boundary=x',
    'multipart/related',
    'application/x-www-form-urlencoded',
    'application/xml-patch+xml',
    'application/fhir+xml; charset=utf-16',
    'application/fhir+turtle',
    'application/ndjson',
    'application/json-patch+json',
    'application/octet-stream',
    'application/fhir+json;fhirVersion=3.0',
    'application/fhir+json; fhirVersion=5.0',
    'application/fhir+json; fhirversion="1.0"',
    'application/fhir+jsonx',
    'application/fhir',
    'json',
    '/',
    ';',
    ',',
    'application/fhir+json, text/html',
    `application/${'a'.repeat(10_000)}`,
    `a/b;${'x=1;'.repeat(2_000)}`,
  ])
    assertRefused(await post(PATIENT, { 'content-type': type }), UNSUPPORTED, type.slice(0, 60))
  for (const type of [
    'application/fhir+json; fhirVersion=4.0',
    'application/json',
    'APPLICATION/FHIR+JSON',
    'application/fhir+json ;charset="UTF-8"',
  ])
    assert.is((await post(PATIENT, { 'content-type': type })).statusCode, 201, type)
  const { answers } = await exchange(
    base,
    `POST /Patient HTTP/1.1\r\nHost: x\r\nContent-Length: ${PATIENT.length}\r\nConnection: close\r\n\r\n${PATIENT}`,
  )
  assertRefused(answers[0]!, UNSUPPORTED, 'no Content-Type')
  await assertServes(server, 'row 30')
})

test('an answer in another form than FHIR JSON and XML is refused, by Accept and by _format (row 31)', async () => {
  const { id } = (await post(PATIENT, { 'content-type': 'application/json' })).json() as { id: string }
  const refused = { status: 406, code: 'not-supported' } as const
  for (const url of [
    `/Patient/${id}`,
    `/Patient/${id}/_history`,
    `/Patient/${id}/_history/1`,
    '/Patient/_history',
    '/_history',
    '/metadata',
  ]) {
    for (const accept of [
      'text/html',
      'text/turtle',
      'application/fhir+turtle',
      'application/fhir+xml;q=0',
      'application/fhir+xml; fhirVersion=3.0',
      'image/*',
      'application/fhir+json;q=0',
      'application/fhir+json; fhirVersion=3.0',
      '*',
      ',',
      '*/json',
      `text/html,${'a/b,'.repeat(3_000)}`,
    ])
      assertRefused(await server.inject({ url, headers: { accept } }), refused, `${url} ${accept.slice(0, 60)}`)
    for (const format of [
      'bogus',
      'xmls',
      'ttl',
      'text/html',
      'application%2Ffhir%2Bturtle',
      'json;fhirVersion=3.0',
      'html',
    ])
      assertRefused(await server.inject(`${url}?_format=${format}`), refused, `${url} ${format}`)
    // Without a value it is ignored, so Accept counts.
    const unnamed = `${url}?_format=`
    assertRefused(await server.inject({ url: unnamed, headers: { accept: 'image/png' } }), refused, unnamed)
    assert.is((await server.inject(unnamed)).statusCode, 200, unnamed)
    for (const accept of [
      '*/*',
      'application/*',
      'text/html, application/json;q=0.1',
      'application/fhir+json; fhirVersion=4.0',
    ])
      assert.is((await server.inject({ url, headers: { accept } })).statusCode, 200, accept)
    for (const format of ['json', 'application/json', 'application/fhir%2Bjson', 'application/fhir+json', 'text/json'])
      assert.is(
        (await server.inject({ url: `${url}?_format=${format}`, headers: { accept: 'text/html' } })).statusCode,
        200,
      )
  }
  // Refused before anything is stored.
  const before = (await server.inject('/Patient/_history?_count=1')).json() as { entry: { fullUrl: string }[] }
  assertRefused(await post(PATIENT, { 'content-type': 'application/json', accept: 'text/html' }), refused, 'create')
  const after = (await server.inject('/Patient/_history?_count=1')).json() as { entry: { fullUrl: string }[] }
  assert.is(after.entry[0]?.fullUrl, before.entry[0]?.fullUrl)
  await assertServes(server, 'row 31')
})

test('a gzip bomb is unpacked no further than the limit, and stacked or unknown codings not at all (row 32)', async () => {
  const bomb = gzipSync(Buffer.alloc(100 * MEGA, 0x20), { level: 1 })
  assert.ok(bomb.length < (100 * MEGA) / 200)
  for (let warm = 0; warm < 2; warm += 1) await encoded(bomb, 'gzip')
  const before = process.memoryUsage()
  const started = performance.now()
  for (const encoding of ['gzip', 'x-gzip', 'GZIP', ' gzip '])
    assertRefused(await encoded(bomb, encoding), TOO_LONG, encoding)
  assert.ok(performance.now() - started < 8_000)
  const after = process.memoryUsage()
  assert.ok(after.rss - before.rss < 64 * MEGA, `${(after.rss - before.rss) / MEGA} MB more`)
  const twice = gzipSync(bomb, { level: 9 })
  assertRefused(await encoded(twice, 'gzip'), CORRUPT, 'a bomb in a bomb, unpacked once')
  for (const encoding of [
    'gzip, gzip',
    'gzip,gzip',
    'br, gzip',
    'br',
    'deflate',
    'compress',
    'zstd',
    'x',
    'gzip;q=1',
    '*',
    'identity, gzip',
    'a'.repeat(5_000),
  ]) {
    const answer = await encoded(twice, encoding)
    assertRefused(answer, UNSUPPORTED, encoding.slice(0, 60))
    assert.is(answer.headers['accept-encoding'], 'gzip')
  }
  const space = Buffer.alloc(MOST + MEGA, 0x20)
  assertRefused(await encoded(brotliCompressSync(space, { params: { 1: 5 } }), 'br'), UNSUPPORTED, 'brotli')
  assertRefused(await encoded(zstdCompressSync(space), 'zstd'), UNSUPPORTED, 'zstd')
  assertRefused(await encoded(deflateSync(space), 'deflate'), UNSUPPORTED, 'deflate')
  // The same over a connection: the answer arrives although most of the body is still on its way.
  const head = `POST /Patient HTTP/1.1\r\nHost: x\r\nContent-Type: application/fhir+json\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`
  const { answers, closed } = await exchange(base, Buffer.concat([Buffer.from(head), bomb]))
  assertRefused(answers[0]!, TOO_LONG, 'over a connection')
  assert.ok(closed)
  const good = gzipSync(PATIENT)
  for (const encoding of ['gzip', 'x-gzip', 'identity', ''])
    assert.is(
      (await encoded(encoding.includes('gzip') ? good : Buffer.from(PATIENT), encoding)).statusCode,
      201,
      encoding,
    )
  await assertServes(server, 'row 32')
})

test('a gzip body of several members is read as one, and each has to be whole', async () => {
  const cut = [PATIENT.slice(0, 10), PATIENT.slice(10, 20), PATIENT.slice(20)]
  const members = cut.map((part) => gzipSync(part))
  assert.is((await encoded(Buffer.concat(members), 'gzip')).statusCode, 201)
  assert.is((await encoded(Buffer.concat([gzipSync(PATIENT), gzipSync('')]), 'gzip')).statusCode, 201)
  const twice = await encoded(Buffer.concat([gzipSync(PATIENT), gzipSync(PATIENT)]), 'gzip')
  assertRefused(twice, { status: 400, code: 'structure' }, 'two resources')
  for (const after of [Buffer.from('x'), Buffer.alloc(8)])
    assertRefused(await encoded(Buffer.concat([...members, after]), 'gzip'), CORRUPT, 'followed by something')
  assertRefused(
    await encoded(Buffer.concat([...members.slice(0, 2), members[2]!.subarray(0, 12)]), 'gzip'),
    CORRUPT,
    'cut',
  )
  const bomb = Buffer.concat([gzipSync(Buffer.alloc(MOST - MEGA, 0x20)), gzipSync(Buffer.alloc(2 * MEGA, 0x20))])
  assertRefused(await encoded(bomb, 'gzip'), { status: 413, code: 'too-long' }, 'together larger than the limit')
})

test('an empty Accept asks for nothing else, so the answer is FHIR JSON', async () => {
  for (const accept of ['', ' '])
    for (const url of ['/metadata', '/Patient', '/Patient/_history']) {
      const answer = await server.inject({ url, headers: { accept } })
      assert.is(answer.statusCode, 200, `${url} ${JSON.stringify(accept)}`)
    }
})

test('a gzip body that is cut, damaged or followed by something is refused (row 33)', async () => {
  const good = gzipSync(PATIENT)
  const flipped = (at: number): Buffer => Buffer.from(good.map((byte, index) => (index === at ? byte ^ 0xff : byte)))
  for (const length of [0, 1, 9, 10, 11, good.length - 8, good.length - 4, good.length - 1])
    assertRefused(await encoded(good.subarray(0, length), 'gzip'), CORRUPT, `cut at ${length}`)
  assertRefused(await encoded(flipped(good.length - 6), 'gzip'), CORRUPT, 'CRC')
  assertRefused(await encoded(flipped(good.length - 2), 'gzip'), CORRUPT, 'length')
  assertRefused(await encoded(flipped(0), 'gzip'), CORRUPT, 'magic')
  assertRefused(await encoded(flipped(2), 'gzip'), CORRUPT, 'method')
  for (const rest of [Buffer.from('x'), Buffer.alloc(8), gzipSync('').subarray(0, 12), Buffer.from(PATIENT)])
    assertRefused(await encoded(Buffer.concat([good, rest]), 'gzip'), CORRUPT, `followed by ${rest.length} bytes`)
  assertRefused(await encoded(Buffer.from(PATIENT), 'gzip'), CORRUPT, 'no gzip at all')
  assertRefused(await encoded(randomBytes(100_000), 'gzip'), CORRUPT, 'noise')
  assertRefused(await encoded(gzipSync(''), 'gzip'), CORRUPT, 'nothing in it')
  await assertServes(server, 'row 33')
})

test('a body that says it is too large is refused unread (row 34)', async () => {
  for (const size of [MOST + 1, 100 * MEGA, 2 ** 53, 10 ** 15]) {
    // Not a byte of the body is sent.
    const { answers, closed } = await exchange(
      base,
      `POST /Patient HTTP/1.1\r\nHost: x\r\nContent-Type: application/fhir+json\r\nContent-Length: ${size}\r\n\r\n`,
    )
    assertRefused(answers[0]!, TOO_LONG, String(size))
    assert.is(answers[0]?.headers.connection, 'close')
    assert.ok(closed)
  }
  await assertServes(server, 'row 34')
})

/** Sends chunks until the answer is there or everything is sent; tells the answer and whether the connection broke. */
const pour = async (head: string, chunk: Buffer, most: number) => {
  const socket = await openSocket(base)
  let text = ''
  let open = true
  let broke: string | undefined
  const move = (): void => void socket.emit('drain')
  socket.on('data', (data) => {
    text += data.toString('latin1')
    move()
  })
  socket.on('error', ({ message }) => {
    broke = message
  })
  socket.on('close', () => {
    open = false
    move()
  })
  socket.write(head)
  for (let sent = 0; open && text === '' && sent < most; sent += chunk.length)
    if (!socket.write(chunk)) await new Promise((resolve) => socket.once('drain', resolve))
  if (open) await new Promise((resolve) => socket.end().once('close', resolve))
  return { answer: readAnswers(text)[0], broke }
}

test('a body without an end is read up to the limit, and its sender still sees the answer (row 34)', async () => {
  const head = 'POST /Patient HTTP/1.1\r\nHost: x\r\nContent-Type: application/fhir+json\r\n'
  const data = Buffer.alloc(64 * 1024, 0x20)
  const chunk = Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from('\r\n')])
  for (let round = 0; round < 3; round += 1) {
    const chunked = await pour(`${head}Transfer-Encoding: chunked\r\n\r\n`, chunk, 4_000 * MEGA)
    assert.ok(chunked.answer !== undefined, 'no answer')
    assert.is(chunked.broke, undefined)
    assertRefused(chunked.answer, TOO_LONG, 'chunked')
    assert.is(chunked.answer.headers.connection, 'close')
    const announced = await pour(`${head}Content-Length: ${100 * MEGA}\r\n\r\n`, data, 100 * MEGA)
    assert.ok(announced.answer !== undefined, 'no answer')
    assert.is(announced.broke, undefined)
    assertRefused(announced.answer, TOO_LONG, 'announced')
  }
  // Also where no body is wanted.
  const elsewhere = await pour(
    `DELETE /metadata HTTP/1.1\r\nHost: x\r\nContent-Length: ${100 * MEGA}\r\n\r\n`,
    data,
    100 * MEGA,
  )
  assert.ok(elsewhere.answer !== undefined, 'no answer')
  assert.is(elsewhere.broke, undefined)
  assertRefused(elsewhere.answer, { status: 405, code: 'not-supported' }, '405')
  await assertServes(server, 'row 34')
})

test.run()
