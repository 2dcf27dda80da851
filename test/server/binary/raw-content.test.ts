/** Content that is no FHIR, written and read at `/Binary` as it is. https://hl7.org/fhir/R4/binary.html#rest */
// database: sqlite, because content is made a resource before it is stored like any other
import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import references from '../../../plugins/references/index.ts'
import validation from '../../../plugins/validation/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { assertRefused } from '../../support/refused.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'
import { audited, eventsOf, lineOf } from '../audit/audited.ts'

type Json = Record<string, any>
type Headers = Record<string, string>

const FHIR_JSON = 'application/fhir+json'
const MAX_BYTES = 2 * 1024 * 1024

let server: TestServer
test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), validation, references, ...fhirPlugins],
    settings: {
      server: { public_url: 'http://localhost:80' },
      conformance: { update_as_create: true },
      fhir: { max_body_bytes: MAX_BYTES },
    },
  })
  await put('/Patient/p1', FHIR_JSON, '{"resourceType":"Patient","id":"p1"}')
})
test.after(() => server.stop())

type Body = string | Buffer
const ask = (method: 'GET' | 'HEAD' | 'POST' | 'PUT', url: string, headers: Headers = {}, payload?: Body) =>
  server.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) })
const post = (type: string, payload: Body, headers: Headers = {}) =>
  ask('POST', '/Binary', { 'content-type': type, ...headers }, payload)
const put = (url: string, type: string, payload: Body, headers: Headers = {}) =>
  ask('PUT', url, { 'content-type': type, ...headers }, payload)
const asFhir = async (url: string): Promise<Json> => (await ask('GET', url, { accept: FHIR_JSON })).json() as Json

const PDF = Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.from([0, 255, 128, 10, 13]), randomBytes(1_000)])

test('POST of any media type makes a Binary of the type and the bytes that were sent', async () => {
  for (const [type, content] of [
    ['application/pdf', PDF],
    ['image/png', randomBytes(3)],
    ['text/plain; charset=utf-8', Buffer.from('Grüße')],
    ['text/plain;charset=iso-8859-1;format=flowed', Buffer.from('Gr\u00fc\u00dfe', 'latin1')],
    ['multipart/related; boundary="a b;c"', Buffer.from('--a b;c--')],
    ['text/xml', Buffer.from('<ClinicalDocument xmlns="urn:hl7-org:v3"/>')],
    ['application/json', Buffer.from('{"resourceType":"Patient","a":[{"resourceType":"Binary"}]}')],
    ['application/json', Buffer.from('["Binary"]')],
    ['application/json', Buffer.from('{"a":1')],
    ['application/x-www-form-urlencoded', Buffer.from('a=1&b=2')],
    ['application/octet-stream', randomBytes(500_000)],
  ] as const) {
    const created = await post(type, content)
    assert.is(created.statusCode, 201, `${type}: ${created.body.slice(0, 500)}`)
    const { id, meta, ...resource } = created.json() as Json
    assert.equal(resource, { resourceType: 'Binary', contentType: type, data: content.toString('base64') }, type)
    assert.is(created.headers['content-type'], 'application/fhir+json; charset=utf-8')
    assert.match(created.headers.location as string, new RegExp(`/Binary/${id}/_history/1$`))
    assert.is(created.headers.etag, 'W/"1"')
    for (const url of [`/Binary/${id}`, `/Binary/${id}/_history/${meta.versionId}`]) {
      const read = await ask('GET', url)
      assert.is(read.statusCode, 200, read.body.slice(0, 500))
      assert.is(read.headers['content-type'], type)
      assert.ok(read.rawPayload.equals(content), `${type} at ${url}`)
      assert.is(read.headers['content-disposition'], 'attachment')
      assert.is(read.headers['content-security-policy'], "sandbox; default-src 'none'")
      assert.is(read.headers['x-content-type-options'], 'nosniff')
      assert.is(read.headers.etag, 'W/"1"')
      assert.match(String(read.headers.vary), /^accept(?:, accept-encoding)?$/)
    }
  }
})

test('the content is shown unless FHIR is asked for', async () => {
  const { id } = (await post('application/pdf', PDF)).json() as Json
  const json = ((await post('application/json', '{"a":1}')).json() as Json).id as string
  const native = ['application/pdf', PDF.toString('latin1')] as const
  const resource = 'application/fhir+json; charset=utf-8'
  for (const [url, accept, type] of [
    [`/Binary/${id}`, '*/*', native[0]],
    [`/Binary/${id}`, '', native[0]],
    [`/Binary/${id}`, 'application/pdf', native[0]],
    [`/Binary/${id}`, 'application/*', native[0]],
    [`/Binary/${id}`, 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', native[0]],
    [`/Binary/${id}`, 'application/json, text/plain, */*', native[0]],
    [`/Binary/${id}`, 'application/fhir+json;q=0.5, application/pdf', native[0]],
    [`/Binary/${id}`, 'application/fhir+json;q=0, */*', native[0]],
    [`/Binary/${json}`, 'application/json', 'application/json'],
    [`/Binary/${json}`, FHIR_JSON, resource],
    [`/Binary/${id}`, FHIR_JSON, resource],
    [`/Binary/${id}`, `${FHIR_JSON}, */*;q=0.1`, resource],
    [`/Binary/${id}`, `${FHIR_JSON}, application/pdf`, resource],
    [`/Binary/${id}`, 'application/json', resource],
    [`/Binary/${id}?_format=json`, '*/*', resource],
    [`/Binary/${id}?_format=json`, 'application/pdf', resource],
    [`/Binary/${id}?_summary=true`, '*/*', resource],
    [`/Binary/${id}?_pretty=true`, '*/*', resource],
  ] as const) {
    const read = await ask('GET', url, { accept })
    assert.is(read.statusCode, 200, `${url} ${accept}`)
    assert.is(read.headers['content-type'], type, `${url} ${accept}`)
    assert.match(String(read.headers.vary), /\baccept\b/, `${url} ${accept}`)
    const head = await ask('HEAD', url, { accept })
    assert.is(head.headers['content-type'], type, `HEAD ${url} ${accept}`)
    assert.is(head.headers['content-length'], String(read.rawPayload.length), `HEAD ${url} ${accept}`)
    assert.is(head.rawPayload.length, 0)
  }
  for (const accept of ['image/png', 'application/fhir+turtle', 'application/pdf;q=0', `${FHIR_JSON}; fhirVersion=5.0`])
    assertRefused(await ask('GET', `/Binary/${id}`, { accept }), { status: 406, code: 'not-supported' }, accept)
  // A range is an offer that a server may leave alone. RFC 9110, section 14.2.
  const ranged = await ask('GET', `/Binary/${id}`, { range: 'bytes=0-3' })
  assert.is(ranged.statusCode, 200)
  assert.is(ranged.rawPayload.length, PDF.length)
  assert.is((await ask('GET', `/Binary/${id}`, { 'if-none-match': 'W/"1"' })).statusCode, 304)
})

test('PUT of raw content is an update', async () => {
  const first = await put('/Binary/doc', 'text/plain', 'one')
  assert.is(first.statusCode, 201, first.body)
  const second = await put('/Binary/doc', 'application/pdf', PDF, { 'if-match': 'W/"1"' })
  assert.is(second.statusCode, 200, second.body)
  assert.is(second.headers.etag, 'W/"2"')
  assertRefused(
    await put('/Binary/doc', 'text/plain', 'three', { 'if-match': 'W/"1"' }),
    { status: 412, code: 'conflict' },
    'a version that is gone',
  )
  assert.is((await ask('GET', '/Binary/doc/_history/1')).body, 'one')
  assert.ok((await ask('GET', '/Binary/doc')).rawPayload.equals(PDF))
  assert.is((await asFhir('/Binary/doc')).id, 'doc')
  assertRefused(await put('/Binary/a_b', 'text/plain', 'x'), { status: 404, code: 'not-found' }, 'no id')
})

test('preferences and conditions count as for any create', async () => {
  const minimal = await post('text/plain', 'x', { prefer: 'return=minimal' })
  assert.is(minimal.statusCode, 201)
  assert.is(minimal.body, '')
  const outcome = await post('text/plain', 'x', { prefer: 'return=OperationOutcome' })
  assert.is((outcome.json() as Json).resourceType, 'OperationOutcome')
  const { id } = minimal.headers.location?.toString().match(/Binary\/(?<id>[^/]+)/)?.groups ?? {}
  const again = await post('text/plain', 'y', { 'if-none-exist': `_id=${id}` })
  assert.is(again.statusCode, 200, again.body)
  assert.is((again.json() as Json).data, Buffer.from('x').toString('base64'))
  const one = await put(`/Binary?_id=${id}`, 'text/plain', 'z')
  assert.is(one.statusCode, 200, one.body)
  assert.is((await ask('GET', `/Binary/${id}`)).body, 'z')
})

test('gzip is unpacked, and the limit counts what was unpacked before it is encoded', async () => {
  const text = 'a line of text\n'.repeat(10_000)
  const packed = await post('text/plain', gzipSync(text), { 'content-encoding': 'gzip' })
  assert.is(packed.statusCode, 201, packed.body.slice(0, 300))
  const { id } = packed.json() as Json
  assert.is((await ask('GET', `/Binary/${id}`)).body, text)
  // As FHIR JSON it would be a third longer than allowed.
  const most = randomBytes(MAX_BYTES)
  const large = await post('application/octet-stream', most, { prefer: 'return=minimal' })
  assert.is(large.statusCode, 201, large.body.slice(0, 300))
  const path = new URL(large.headers.location as string).pathname
  assert.ok((await ask('GET', path)).rawPayload.equals(most))
  assertRefused(
    await post('application/octet-stream', Buffer.alloc(MAX_BYTES + 1)),
    { status: 413, code: 'too-long' },
    'a byte more',
  )
})

test('large content that is sent as FHIR comes back whole, blanks in its base64 or not', async () => {
  const content = randomBytes(400_001)
  const data = content.toString('base64')
  for (const sent of [data, data.replaceAll(/(.{76})/g, '$1 '), data.replaceAll('/', '\\/')]) {
    const body = `{"meta":{"tag":[{"code":"\\"data\\":\\"x\\""}]},"resourceType":"Binary","data":"${sent}","contentType":"image/jpeg"}`
    const created = await post(FHIR_JSON, body, { prefer: 'return=minimal' })
    assert.is(created.statusCode, 201, created.body.slice(0, 300))
    const read = await ask('GET', new URL(created.headers.location as string).pathname)
    assert.is(read.headers['content-type'], 'image/jpeg')
    assert.ok(read.rawPayload.equals(content))
  }
})

test('a Binary resource in JSON is a resource, whichever name JSON has', async () => {
  const resource = { contentType: 'text/plain', data: 'eA==', resourceType: 'Binary' }
  for (const type of [FHIR_JSON, 'application/json', 'application/json; charset=utf-8', 'text/json']) {
    const created = await post(type, JSON.stringify(resource))
    assert.is(created.statusCode, 201, created.body)
    assert.is((created.json() as Json).contentType, 'text/plain', type)
  }
  // Under FHIR's own name nothing else is taken for content: it may be a resource that went to the wrong address.
  assertRefused(
    await post(FHIR_JSON, '{"resourceType":"Patient"}'),
    { status: 400, code: ['structure', 'invalid'] },
    'a Patient',
  )
  assertRefused(
    await post('application/json', '{"resourceType":"Binary"'),
    { status: 400, code: 'structure' },
    'broken',
  )
})

test('a Binary in XML is a resource, other XML is content, and other FHIR in XML is refused', async () => {
  const binary = `<Binary xmlns="http://hl7.org/fhir"><contentType value="text/plain"/><data value="${Buffer.from('x').toString('base64')}"/></Binary>`
  const declared = `<?xml version="1.0" encoding="UTF-8"?><!-- a -->\n${binary}`
  for (const type of ['application/fhir+xml', 'application/xml+fhir', 'application/xml', 'text/xml; charset=utf-8'])
    for (const body of [binary, declared]) {
      const created = await post(type, body, { accept: FHIR_JSON })
      assert.is(created.statusCode, 201, `${type} ${created.body}`)
      const { id, contentType, data } = created.json() as Json
      assert.equal([contentType, data], ['text/plain', 'eA=='], type)
      assert.is((await ask('GET', `/Binary/${id}`)).body, 'x')
      for (const [url, accept] of [
        [`/Binary/${id}`, 'application/fhir+xml'],
        [`/Binary/${id}`, 'application/xml'],
        [`/Binary/${id}?_format=xml`, '*/*'],
      ] as const) {
        const read = await ask('GET', url, { accept })
        assert.is(read.headers['content-type'], 'application/fhir+xml; charset=utf-8', url)
        assert.match(read.body, '<contentType value="text/plain"/><data value="eA=="/>')
        assert.is(read.headers['content-disposition'], 'attachment')
      }
    }
  for (const content of [
    '<ClinicalDocument xmlns="urn:hl7-org:v3"/>',
    '<Binary/>',
    '<Patient xmlns="http://hl7.org/fhir"/>',
    'no XML',
  ]) {
    const { contentType, data, id } = (await post('text/xml', content)).json() as Json
    assert.equal([contentType, data], ['text/xml', Buffer.from(content).toString('base64')], content)
    const read = await ask('GET', `/Binary/${id}`, { accept: 'text/xml' })
    assert.equal([read.headers['content-type'], read.body], ['text/xml', content])
  }
  for (const body of ['<Patient xmlns="http://hl7.org/fhir"/>', '<Binary/>', binary.replace('<data', '<foo/><data')])
    assertRefused(
      await post('application/fhir+xml', body, { accept: FHIR_JSON }),
      { status: 400, code: ['invalid', 'structure'] },
      body,
    )
  assertRefused(
    await post('application/xml', binary, { 'x-security-context': 'Patient/p1', accept: FHIR_JSON }),
    { status: 400, code: 'value' },
    'X-Security-Context with a resource',
  )
})

test('what cannot be stored is refused', async () => {
  for (const type of ['application/fhir+turtle', 'application/fhir+xml; charset=utf-16'])
    assertRefused(await post(type, '<Binary/>', { accept: FHIR_JSON }), { status: 415, code: 'not-supported' }, type)
  for (const type of [
    'text',
    'text/',
    '/plain',
    'text/plain; charset',
    'text/plain; a="b',
    `a/${'b'.repeat(300)}`,
    'é/é',
  ])
    assertRefused(
      await post(type, 'x'),
      { status: [400, 415], code: ['value', 'not-supported'] },
      `Content-Type ${type.slice(0, 40)}`,
    )
  assertRefused(await post('application/pdf', ''), { status: 400, code: 'required' }, 'nothing')
  assertRefused(await put('/Binary/doc', 'application/pdf', ''), { status: 400, code: 'required' }, 'nothing')
  // Content is taken at Binary only.
  assertRefused(
    await ask('POST', '/Patient', { 'content-type': 'application/pdf' }, PDF),
    { status: 415, code: 'not-supported' },
    'another type',
  )
})

test('X-Security-Context becomes the securityContext, and is checked like any reference', async () => {
  const created = await post('text/plain', 'x', { 'x-security-context': 'Patient/p1' })
  assert.is(created.statusCode, 201, created.body)
  assert.equal((created.json() as Json).securityContext, { reference: 'Patient/p1' })
  const { id } = created.json() as Json
  const updated = await put(`/Binary/${id}`, 'text/plain', 'y', {
    'x-security-context': 'http://localhost:80/Patient/p1',
  })
  assert.is(updated.statusCode, 200, updated.body)
  const missing = await post('text/plain', 'x', { 'x-security-context': 'Patient/none' })
  assert.is(missing.statusCode, 422, missing.body)
  assert.match(missing.body, /Binary\.securityContext/)
  for (const context of ['', 'p1', 'Patient/p1, Patient/p2', '{"reference":"Patient/p1"}', 'urn:uuid:1', '#p1'])
    assertRefused(
      await post('text/plain', 'x', { 'x-security-context': context }),
      { status: 400, code: 'value' },
      context,
    )
  for (const type of [FHIR_JSON, 'application/json'])
    assertRefused(
      await post(type, '{"resourceType":"Binary","contentType":"a/b"}', { 'x-security-context': 'Patient/p1' }),
      { status: 400, code: 'value' },
      type,
    )
})

test('in a Bundle a Binary is a resource', async () => {
  const { id } = (await post('text/plain', 'x')).json() as Json
  const entry = [{ request: { method: 'GET', url: `Binary/${id}` } }]
  const answer = await ask(
    'POST',
    '/',
    { 'content-type': FHIR_JSON },
    JSON.stringify({ resourceType: 'Bundle', type: 'batch', entry }),
  )
  assert.is((answer.json() as Json).entry[0].resource.resourceType, 'Binary', answer.body)
})

test('/metadata says that content is taken', async () => {
  const statement = (await ask('GET', '/metadata')).json() as Json
  const binary = statement.rest[0].resource.find((one: Json) => one.type === 'Binary')
  assert.match(binary.documentation, /any media type/)
})

test('the trail has raw content like any create', async () => {
  const one = await audited()
  try {
    const headers = { 'content-type': 'application/pdf' }
    const created = await one.inject({ method: 'POST', url: '/Binary', headers, payload: PDF })
    const { id } = created.json() as Json
    await one.inject(`/Binary/${id}`)
    assert.equal((await eventsOf(one)).map(lineOf).slice(-2), [
      `create Binary/${id}/_history/1 → 0`,
      `read Binary/${id}/_history/1 → 0`,
    ])
  } finally {
    await one.stop()
  }
})

test('the name of a file that a client sends along is taken, for a Binary only', async () => {
  const url = '/Binary?_filename=a%20b.pdf'
  const created = await ask('POST', url, { 'content-type': 'application/pdf' }, PDF)
  assert.is(created.statusCode, 201, created.body)
  const { id } = created.json() as Json
  assert.equal((await ask('GET', `/Binary/${id}`, { accept: 'application/pdf' })).rawPayload, Buffer.from(PDF))
  const other = '/Patient?_filename=a.pdf'
  assert.is((await ask('POST', other, { 'content-type': FHIR_JSON }, '{"resourceType":"Patient"}')).statusCode, 400)
})

test.run()
