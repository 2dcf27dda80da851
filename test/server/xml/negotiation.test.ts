/** Which format an answer has: `_format`, Accept with its qualities, and the format of the body. RFC 9110, section 12.5.1. */
// database: memory
import { gunzipSync } from 'node:zlib'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { assertRefused } from '../../support/refused.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'
import { resource, xml } from '../../support/xml-client.ts'
import { rootNameOf, valuesAt } from '../../support/xml-documents.ts'

const JSON_TYPE = 'application/fhir+json; charset=utf-8'
const XML_TYPE = 'application/fhir+xml; charset=utf-8'
const LONG = 'x'.repeat(5_000)

/** All data types, so that each answer can be XML, and few resources: /metadata is asked for often. */
const TYPES = (
  'base64Binary boolean canonical code date dateTime decimal id instant integer markdown oid positiveInt string time ' +
  'unsignedInt uri url uuid xhtml Address Age Annotation Attachment BackboneElement CodeableConcept Coding ContactDetail ' +
  'ContactPoint Count Distance Duration Element Expression Extension HumanName Identifier Meta Money Narrative Period ' +
  'Quantity Range Ratio Reference SampledData Signature Timing UsageContext Resource DomainResource Binary Bundle ' +
  'CapabilityStatement OperationOutcome Patient'
).split(' ')

let server: TestServer
let base = ''
test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions(TYPES, /^SearchParameter-Resource/), ...fhirPlugins],
    settings: { server: { bind: '127.0.0.1:0', compress_from_bytes: 200 }, conformance: { update_as_create: true } },
  })
  base = await server.listen()
  for (const [id, text] of [
    ['a', 'x'],
    ['long', LONG],
  ])
    await send(
      'PUT',
      `/Patient/${id}`,
      'application/fhir+json',
      JSON.stringify({ resourceType: 'Patient', id, name: [{ text }] }),
    )
})
test.after(() => server.stop())

type Headers = Record<string, string>
const send = (method: 'PUT' | 'POST', url: string, type: string, payload: string, headers: Headers = {}) =>
  server.inject({ method, url, headers: { 'content-type': type, ...headers }, payload })
/** Over a connection, so that reads and searches are direct answers. */
const typeOf = async (url: string, headers: Headers): Promise<string | null> => {
  const answer = await fetch(base + url, { headers })
  const text = await answer.text()
  assert.is(answer.status, 200, `${url} ${JSON.stringify(headers)} ${text}`)
  const type = answer.headers.get('content-type')
  if (type === XML_TYPE) rootNameOf(text)
  else JSON.parse(text)
  return type
}

const URLS = ['/Patient/a', '/Patient?_id=a', '/Patient/a/_history', '/Patient/a/_history/1', '/metadata']

test('Accept: the format of the higher quality, and JSON where both are equal', async () => {
  for (const [accept, type] of [
    ['*/*', JSON_TYPE],
    ['application/*', JSON_TYPE],
    ['application/fhir+xml', XML_TYPE],
    ['application/xml', XML_TYPE],
    ['text/xml', XML_TYPE],
    ['application/xml+fhir', XML_TYPE],
    ['Application/FHIR+XML ; charset=UTF-8', XML_TYPE],
    ['APPLICATION/FHIR+XML', XML_TYPE],
    ['TEXT/XML', XML_TYPE],
    ['APPLICATION/FHIR+JSON', JSON_TYPE],
    ['application/fhir+xml; fhirVersion=4.0', XML_TYPE],
    ['application/fhir+xml, */*;q=0.5', XML_TYPE],
    ['application/fhir+xml;q=0.9, application/fhir+json;q=0.8', XML_TYPE],
    ['application/fhir+json;q=0.8, application/fhir+xml;q=0.9', XML_TYPE],
    ['application/fhir+xml;q=0.8, application/fhir+json', JSON_TYPE],
    ['application/fhir+xml, application/fhir+json', JSON_TYPE],
    ['application/fhir+xml;q=0.5, */*', JSON_TYPE],
    ['application/fhir+json;q=0, */*', XML_TYPE],
    ['application/fhir+xml;q=0, */*', JSON_TYPE],
    ['application/fhir+xml;fhirVersion=5.0, application/json;q=0.1', JSON_TYPE],
    ['text/turtle, text/xml;q=0.2', XML_TYPE],
    // What browsers send: their XML is for pages.
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', JSON_TYPE],
    ['text/html, application/fhir+xml, */*;q=0.1', XML_TYPE],
    ['text/html, application/xml', XML_TYPE],
  ] as const)
    for (const url of URLS) assert.is(await typeOf(url, { accept }), type, `${url} ${accept}`)
})

test('_format counts before Accept, in a query and in a form', async () => {
  for (const format of [
    'xml',
    'text/xml',
    'application/xml',
    'application/fhir%2Bxml',
    'application/fhir+xml',
    'application/fhir+xml;fhirVersion=4.0',
  ])
    for (const url of URLS) {
      const question = url.includes('?') ? '&' : '?'
      assert.is(
        await typeOf(`${url}${question}_format=${format}`, { accept: 'application/fhir+json' }),
        XML_TYPE,
        `${url} ${format}`,
      )
      assert.is(await typeOf(`${url}${question}%5fformat=${format}`, {}), XML_TYPE, `${url} ${format}`)
      assert.is(await typeOf(`${url}${question}_format=json`, { accept: 'application/fhir+xml' }), JSON_TYPE, url)
    }
  const form = 'application/x-www-form-urlencoded'
  for (const [body, headers, type] of [
    ['_id=a&_format=xml', {}, XML_TYPE],
    ['_id=a&_format=xml', { accept: 'application/fhir+json' }, XML_TYPE],
    ['_id=a', { accept: 'application/fhir+xml' }, XML_TYPE],
    ['_id=a&_format=json', { accept: 'application/fhir+xml' }, JSON_TYPE],
    ['_id=a', {}, JSON_TYPE],
  ] as const)
    assert.is((await send('POST', '/Patient/_search', form, body, headers)).headers['content-type'], type, body)
})

test('_format given twice is refused, and an empty one ignored, by every read and search', async () => {
  const accept = 'application/fhir+xml'
  for (const url of URLS) {
    const asked = url.includes('?') ? `${url}&` : `${url}?`
    for (const twice of ['_format=xml&_format=json', '_format=json&_format=json', '_format=xml&%5fformat=xml'])
      for (const headers of [{}, { accept }]) {
        const { statusCode, body } = await server.inject({ url: `${asked}${twice}`, headers })
        assert.is(statusCode, 400, `${asked}${twice} ${body}`)
        assert.match(body, 'it is given twice', `${asked}${twice}`)
      }
    for (const empty of ['_format=', '_format', '_format=&_format=', '_format=&_format=xml', '%5fformat='])
      assert.is(await typeOf(`${asked}${empty}`, { accept }), XML_TYPE, `${asked}${empty}`)
    for (const empty of ['_format=', '_format=&_format=json'])
      assert.is(await typeOf(`${asked}${empty}`, { accept: '*/*' }), JSON_TYPE, `${asked}${empty}`)
    assert.is(await typeOf(`${asked}_format=&_format=json`, { accept }), JSON_TYPE, asked)
  }
  const form = 'application/x-www-form-urlencoded'
  const posted = (body: string, url = '/Patient/_search') => send('POST', url, form, body, { accept })
  const both = await posted('_id=a&_format=xml', '/Patient/_search?_format=json')
  assertRefused(both, { status: 400, code: 'value' }, 'in the address and in the form')
  assert.is((await posted('_id=a&_format=')).headers['content-type'], XML_TYPE)
})

test('a body in one format may ask for an answer in the other, and without Accept decides it', async () => {
  const asXml = resource('Patient', xml('active', 'true'))
  const asJson = '{"resourceType":"Patient","active":true}'
  for (const [type, payload, headers, expected] of [
    ['application/fhir+xml', asXml, {}, XML_TYPE],
    ['application/fhir+xml; charset=utf-8', asXml, {}, XML_TYPE],
    ['text/xml; charset=utf-8', asXml, {}, JSON_TYPE],
    ['application/fhir+xml', asXml, { accept: '*/*' }, JSON_TYPE],
    ['application/fhir+xml', asXml, { accept: 'application/fhir+json' }, JSON_TYPE],
    ['application/fhir+json', asJson, { accept: 'application/fhir+xml' }, XML_TYPE],
    ['application/fhir+json', asJson, {}, JSON_TYPE],
  ] as const) {
    const answer = await send('POST', '/Patient', type, payload, headers)
    assert.is(answer.statusCode, 201, answer.body)
    assert.is(answer.headers['content-type'], expected, `${type} ${JSON.stringify(headers)}`)
  }
  for (const type of [
    'application/fhir+xml; charset=iso-8859-1',
    'application/fhir+xml; fhirVersion=3.0',
    'application/xhtml+xml',
  ])
    assertRefused(
      await send('POST', '/Patient', type, asXml, { accept: '*/*' }),
      { status: 415, code: 'not-supported' },
      type,
    )
})

test('a stored compressed resource is XML to who takes gzip, and what is asked for matters to caches', async () => {
  const answer = await server.inject({
    url: '/Patient/long',
    headers: { accept: 'application/fhir+xml', 'accept-encoding': 'gzip' },
  })
  const text = answer.headers['content-encoding'] === 'gzip' ? gunzipSync(answer.rawPayload).toString() : answer.body
  assert.equal(valuesAt(text, 'name/text'), [LONG])
  for (const headers of [{ accept: 'application/fhir+xml' }, {}, { 'accept-encoding': 'gzip' }])
    for (const url of ['/Patient/a', '/Patient/long', '/Patient?_id=a', '/metadata'])
      assert.match(
        String((await server.inject({ url, headers })).headers.vary),
        /\baccept\b(?!-)/,
        `${url} ${JSON.stringify(headers)}`,
      )
})

test('a 304 has the Vary of the answer that it stands for', async () => {
  const body = JSON.stringify({ resourceType: 'Binary', id: 'n', contentType: 'text/plain', data: 'YQ==' })
  assert.is((await send('PUT', '/Binary/n', 'application/fhir+json', body)).statusCode, 201)
  const long = JSON.stringify({
    resourceType: 'Binary',
    id: 'm',
    contentType: 'text/plain',
    data: 'YWFh'.repeat(2_000),
  })
  assert.is((await send('PUT', '/Binary/m', 'application/fhir+json', long)).statusCode, 201)
  for (const path of ['/Patient/a', '/Patient/long', '/Patient/long/_history/1', '/Binary/n', '/Binary/m'])
    for (const query of ['', '?_format=xml', '?_pretty=true', '?_summary=true'])
      for (const accept of ['application/fhir+json', 'application/fhir+xml', 'APPLICATION/FHIR+XML', '*/*']) {
        const about = `${path}${query} ${accept}`
        const headers = { accept, 'accept-encoding': 'gzip' }
        const whole = await fetch(base + path + query, { headers })
        const etag = whole.headers.get('etag') ?? ''
        await whole.arrayBuffer()
        const unchanged = await fetch(base + path + query, { headers: { ...headers, 'if-none-match': etag } })
        await unchanged.arrayBuffer()
        assert.equal([whole.status, unchanged.status], [200, 304], about)
        assert.match(unchanged.headers.get('vary') ?? '', /\baccept\b(?!-)/, about)
        for (const name of ['vary', 'etag', 'last-modified'])
          assert.is(unchanged.headers.get(name), whole.headers.get(name), `${name} ${about}`)
      }
})

test('what is compressed is XML inside, and errors are XML to who takes compressed answers', async () => {
  const headers = { accept: 'application/fhir+xml', 'accept-encoding': 'gzip' }
  const page = await server.inject({ url: '/Patient?_id=long', headers })
  assert.is(page.headers['content-encoding'], 'gzip')
  assert.match(gunzipSync(page.rawPayload).toString(), '<name><text value="xxx')
  const refused = await server.inject({ url: `/Patient?${'y'.repeat(60)}=1&${'x'.repeat(2_000)}=1`, headers })
  assert.is(refused.statusCode, 400)
  assert.is(refused.headers['content-type'], XML_TYPE)
  assert.is(rootNameOf(refused.body), 'OperationOutcome')
})

test('HEAD has the headers of GET', async () => {
  const headers = { accept: 'application/fhir+xml' }
  const got = await server.inject({ url: '/Patient/a', headers })
  const head = await server.inject({ method: 'HEAD', url: '/Patient/a', headers })
  for (const name of ['content-type', 'content-length', 'etag', 'vary'])
    assert.is(head.headers[name], got.headers[name], name)
  assert.is(head.body, '')
})

test('a resource with a character that XML cannot hold is refused in XML and shown in JSON', async () => {
  const text = JSON.stringify({ resourceType: 'Patient', id: 'c', name: [{ text: 'a\u0001b' }] })
  assert.is((await send('PUT', '/Patient/c', 'application/fhir+json', text)).statusCode, 201)
  const refused = await server.inject({ url: '/Patient/c', headers: { accept: 'application/fhir+xml' } })
  assert.is(refused.statusCode, 406)
  assert.match(valuesAt(refused.body, 'issue/diagnostics')[0] ?? '', 'U+0001')
  assert.is((await server.inject('/Patient/c')).statusCode, 200)
})

test('a change that XML cannot show is answered in JSON, because it is made', async () => {
  const body = { resourceType: 'Patient', name: [{ text: 'a\uffffb' }] }
  const headers = { accept: 'application/fhir+xml' }
  const made = await send('POST', '/Patient', 'application/fhir+json', JSON.stringify(body), headers)
  assert.is(made.statusCode, 201, made.body)
  assert.is(made.headers['content-type'], JSON_TYPE)
  assert.match(made.headers.location as string, new RegExp(`/Patient/${made.json().id}/_history/1$`))
  assert.is(made.headers.etag, 'W/"1"')
  const entry = [{ resource: body, request: { method: 'POST', url: 'Patient' } }]
  const bundle = JSON.stringify({ resourceType: 'Bundle', type: 'transaction', entry })
  const represented = { ...headers, prefer: 'return=representation' }
  const stored = await send('POST', '/', 'application/fhir+json', bundle, represented)
  assert.equal([stored.statusCode, stored.headers['content-type']], [200, JSON_TYPE], stored.body)
})

test.run()
