/** A client that speaks XML only uses every interaction. https://hl7.org/fhir/R4/xml.html */
// database: sqlite, because XML is made JSON before anything is asked of the database
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import references from '../../../plugins/references/index.ts'
import validation from '../../../plugins/validation/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'
import { createXmlClient, resource, type XmlAnswer, type XmlClient, xml } from '../../support/xml-client.ts'

let server: TestServer
let client: XmlClient
test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), validation, references, ...fhirPlugins],
    settings: { server: { public_url: 'http://localhost:80' }, conformance: { update_as_create: true } },
  })
  client = createXmlClient(server)
})
test.after(() => server.stop())

const json = async (url: string): Promise<string> =>
  (await server.inject({ url, headers: { accept: 'application/fhir+json' } })).body
const assertStatus = (answer: XmlAnswer, status: number): XmlAnswer => {
  assert.is(answer.status, status, answer.text.slice(0, 500))
  return answer
}
const patient = (content: string): string => resource('Patient', content)
const named = (family: string): string => `<name>${xml('family', family)}</name>`
const entry = (method: string, url: string, content = '', condition = ''): string =>
  `<entry>${content === '' ? '' : `<resource>${content}</resource>`}<request>${xml('method', method)}${xml('url', url)}${condition}</request></entry>`
const bundle = (type: string, ...entries: readonly string[]): string =>
  resource('Bundle', xml('type', type) + entries.join(''))

test('create and read: what was sent comes back, is JSON to others, and is stored as such', async () => {
  const sent =
    '<text><status value="generated"/><div xmlns="http://www.w3.org/1999/xhtml">a<br/>b &amp; c</div></text>' +
    '<extension url="http://example.org/e"><valueDecimal value="1.00"/></extension>' +
    '<name id="n"><family value="Ä"/><given value="a"/><given id="g"><extension url="http://example.org/e"><valueString value="s"/></extension></given></name>' +
    '<birthDate value="2000-01-01"><extension url="http://example.org/e"><valueCode value="c"/></extension></birthDate>'
  const created = assertStatus(await client.send('POST', '/Patient', patient(sent)), 201)
  const [id = ''] = created.values('id')
  assert.match(String(created.headers.location), `/Patient/${id}/_history/1`)
  assert.is(created.headers.etag, 'W/"1"')
  const read = assertStatus(await client.send('GET', `/Patient/${id}`), 200)
  assert.ok(read.text.endsWith(`</meta>${sent}</Patient>`), read.text)
  assert.is(read.headers.etag, 'W/"1"')
  assert.is(read.headers.vary, 'accept')
  assert.is(read.headers['content-security-policy'], "sandbox; default-src 'none'")
  assert.is(read.headers['content-length'], String(Buffer.byteLength(read.text)))
  const stored = await json(`/Patient/${id}`)
  assert.match(stored, '"valueDecimal":1.00')
  const { name, birthDate, _birthDate } = JSON.parse(stored) as any
  const extension = [{ url: 'http://example.org/e', valueString: 's' }]
  assert.equal(name, [{ id: 'n', family: 'Ä', given: ['a', null], _given: [null, { id: 'g', extension }] }])
  assert.is(birthDate, '2000-01-01')
  assert.is(_birthDate.extension[0].valueCode, 'c')
})

test('update, vread, history, delete', async () => {
  assertStatus(await client.send('PUT', '/Patient/u', patient(xml('id', 'u') + named('a'))), 201)
  assertStatus(
    await client.send('PUT', '/Patient/u', patient(xml('id', 'u') + named('b')), { 'if-match': 'W/"1"' }),
    200,
  )
  assertStatus(
    await client.send('PUT', '/Patient/u', patient(xml('id', 'u') + named('c')), { 'if-match': 'W/"1"' }),
    412,
  )
  // What was read can be sent back, and makes no new version.
  const current = assertStatus(await client.send('GET', '/Patient/u'), 200)
  assert.is(assertStatus(await client.send('PUT', '/Patient/u', current.text), 200).headers.etag, 'W/"2"')
  const past = assertStatus(await client.send('GET', '/Patient/u/_history/1'), 200)
  assert.equal(past.values('name/family'), ['a'])
  assert.is((await client.send('GET', '/Patient/u', undefined, { 'if-none-match': 'W/"2"' })).status, 304)
  assert.is((await client.send('DELETE', '/Patient/u')).status, 204)
  const gone = assertStatus(await client.send('GET', '/Patient/u'), 410)
  assert.equal(gone.values('issue/code'), ['deleted'])
  for (const url of ['/Patient/u/_history', '/Patient/_history', '/_history']) {
    const history = assertStatus(await client.send('GET', url), 200)
    assert.is(history.root, 'Bundle')
    assert.equal(history.values('entry/request/method').slice(0, 3), ['DELETE', 'PUT', 'PUT'], url)
    assert.equal(history.values('entry/resource/Patient/name/family').slice(0, 2), ['b', 'a'], url)
  }
})

test('conditional create, update, patch and delete', async () => {
  const coded = (value: string, more = ''): string =>
    patient(`<identifier>${xml('system', 'urn:s')}${xml('value', value)}</identifier>${more}`)
  const once = { 'if-none-exist': 'identifier=urn:s|1' }
  assertStatus(await client.send('POST', '/Patient', coded('1'), once), 201)
  assertStatus(await client.send('POST', '/Patient', coded('1'), once), 200)
  const found = assertStatus(await client.send('PUT', '/Patient?identifier=urn:s|1', coded('1', named('x'))), 200)
  assert.is(found.headers.etag, 'W/"2"')
  const patched = await client.send(
    'PATCH',
    '/Patient?identifier=urn:s|1',
    pathPatch('Patient.active', 'valueBoolean', 'true'),
  )
  assert.equal(assertStatus(patched, 200).values('active'), ['true'])
  assert.is((await client.send('DELETE', '/Patient?identifier=urn:s|1')).status, 204)
})

const part = (name: string, type: string, value: string): string =>
  `<part>${xml('name', name)}${xml(type, value)}</part>`
const pathPatch = (path: string, type: string, value: string): string => {
  const at = path.lastIndexOf('.')
  const parts =
    part('type', 'valueCode', 'add') +
    part('path', 'valueString', path.slice(0, at)) +
    part('name', 'valueString', path.slice(at + 1)) +
    part('value', type, value)
  return resource('Parameters', `<parameter>${xml('name', 'operation')}${parts}</parameter>`)
}

test('patch as Parameters, also in a Binary of a Bundle', async () => {
  assertStatus(await client.send('PUT', '/Patient/pp', patient(xml('id', 'pp'))), 201)
  const sent = pathPatch('Patient.birthDate', 'valueDate', '1999-12-31')
  assert.equal(assertStatus(await client.send('PATCH', '/Patient/pp', sent), 200).values('birthDate'), ['1999-12-31'])
  const refused = assertStatus(await client.send('PATCH', '/Patient/pp', patient('')), 400)
  assert.match(refused.text, 'Parameters')
  assertStatus(
    await client.send('PATCH', '/Patient/pp', '<Parameters xmlns="http://hl7.org/fhir"><foo/></Parameters>'),
    400,
  )
  const data = Buffer.from(pathPatch('Patient.gender', 'valueCode', 'male')).toString('base64')
  const binary = `<Binary>${xml('contentType', 'application/fhir+xml')}${xml('data', data)}</Binary>`
  assertStatus(await client.send('POST', '/', bundle('transaction', entry('PATCH', 'Patient/pp', binary))), 200)
  const parameters = pathPatch('Patient.active', 'valueBoolean', 'true')
    .replace(/^.*?\?>/, '')
    .replace(' xmlns="http://hl7.org/fhir"', '')
  assertStatus(await client.send('POST', '/', bundle('batch', entry('PATCH', 'Patient/pp', parameters))), 200)
  const read = assertStatus(await client.send('GET', '/Patient/pp'), 200)
  assert.equal(
    [read.values('active'), read.values('gender'), read.values('birthDate')],
    [['true'], ['male'], ['1999-12-31']],
  )
})

test('search by GET and POST, with pages, includes, _summary, _elements and _pretty', async () => {
  for (const id of ['s1', 's2', 's3'])
    assertStatus(
      await client.send('PUT', `/Patient/${id}`, patient(xml('id', id) + named('searched') + xml('gender', 'male'))),
      201,
    )
  const observation = `${xml('id', 'so')}${xml('status', 'final')}<code>${xml('text', 'x')}</code><subject>${xml('reference', 'Patient/s1')}</subject><valueQuantity>${xml('value', '1.50')}</valueQuantity>`
  assertStatus(await client.send('PUT', '/Observation/so', resource('Observation', observation)), 201)
  const page = assertStatus(await client.send('GET', '/Patient?family=searched&_count=2&_total=accurate'), 200)
  assert.equal(page.values('total'), ['3'])
  assert.is(page.values('entry/resource/Patient/id').length, 2)
  const next = page.values('link/url').find((url) => url.includes('_page')) as string
  const last = assertStatus(await client.send('GET', next.replace('http://localhost:80', '')), 200)
  assert.is(last.values('entry/resource/Patient/id').length, 1)
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const posted = assertStatus(await client.send('POST', '/Patient/_search', 'family=searched', form), 200)
  assert.is(posted.values('entry/resource/Patient/id').length, 3)
  const both = assertStatus(await client.send('GET', '/Observation?_id=so&_include=Observation:subject'), 200)
  assert.equal(both.values('entry/resource/Observation/valueQuantity/value'), ['1.50'])
  assert.equal(both.values('entry/resource/Patient/id'), ['s1'])
  const short = assertStatus(await client.send('GET', '/Patient/s1?_elements=gender&_pretty=true'), 200)
  assert.equal([short.values('gender'), short.values('name')], [['male'], []])
  assert.match(short.text, '\n  <gender value="male"/>\n</Patient>')
  assert.equal((await client.send('GET', '/Patient/s1?_summary=text')).values('meta/tag/code'), ['SUBSETTED'])
  assert.equal((await client.send('GET', '/Patient?family=searched&_summary=count')).values('total'), ['3'])
  assert.equal((await client.send('GET', '/Patient/s1/*')).values('entry/resource/Observation/id'), ['so'])
})

test('batch and transaction: entries are answered in XML, and all of a transaction or nothing is stored', async () => {
  const own = (id: string, content = ''): string => `<Patient>${xml('id', id)}${content}</Patient>`
  const done = await client.send(
    'POST',
    '/',
    bundle('transaction', entry('PUT', 'Patient/t1', own('t1', named('t'))), entry('GET', 'Patient?family=t')),
    { prefer: 'return=representation' },
  )
  assert.equal(assertStatus(done, 200).values('entry/response/status'), ['201 Created', '200 OK'])
  assert.equal(done.values('entry/resource/Patient/name/family'), ['t'])
  assert.equal(done.values('entry/resource/Bundle/entry/resource/Patient/id'), ['t1'])
  const mixed = await client.send(
    'POST',
    '/',
    bundle('batch', entry('GET', 'Patient/none'), entry('GET', 'Patient/t1'), entry('GET', 'metadata')),
  )
  assert.equal(assertStatus(mixed, 200).values('entry/response/status'), ['404 Not Found', '200 OK', '200 OK'])
  assert.equal(mixed.values('entry/response/outcome/OperationOutcome/issue/code'), ['not-found'])
  const undone = bundle('transaction', entry('PUT', 'Patient/t2', own('t2')), entry('DELETE', 'Nothing/1'))
  assert.ok((await client.send('POST', '/', undone)).status >= 400)
  assertStatus(await client.send('GET', '/Patient/t2'), 404)
})

test('operations take and give Parameters and resources, $validate too', async () => {
  const invalid = assertStatus(await client.send('POST', '/Patient/$validate', patient(xml('gender', 'x'))), 200)
  assert.is(invalid.root, 'OperationOutcome')
  assert.ok(invalid.values('issue/code').includes('code-invalid'))
  const wrapped = resource(
    'Parameters',
    `<parameter>${xml('name', 'resource')}<resource><Patient>${xml('gender', 'x')}</Patient></resource></parameter>`,
  )
  const other = assertStatus(await client.send('POST', '/Patient/$validate', wrapped), 200)
  assert.equal(other.values('issue/diagnostics'), invalid.values('issue/diagnostics'))
  assertStatus(await client.send('PUT', '/Patient/op', patient(xml('id', 'op'))), 201)
  const tag = `<meta><tag>${xml('system', 'urn:s')}${xml('code', 'a')}</tag></meta>`
  const added = await client.send(
    'POST',
    '/Patient/op/$meta-add',
    resource('Parameters', `<parameter>${xml('name', 'meta')}${tag.replaceAll('meta>', 'valueMeta>')}</parameter>`),
  )
  assert.equal(assertStatus(added, 200).values('parameter/valueMeta/tag/code'), ['a'])
  assert.equal((await client.send('GET', '/Patient/op/$meta')).values('parameter/valueMeta/tag/code'), ['a'])
  assert.is(assertStatus(await client.send('GET', '/Patient/op/$everything'), 200).root, 'Bundle')
})

test('errors and /metadata are XML', async () => {
  for (const [method, url, status] of [
    ['GET', '/Patient/none', 404],
    ['GET', '/Nothing/1', 404],
    ['GET', '/Patient?foo=1', 400],
    ['PUT', '/metadata', 405],
    ['GET', '/Patient/none/_history/1', 404],
    ['POST', '/Patient/$nothing', 404],
  ] as const) {
    const refused = assertStatus(await client.send(method, url, method === 'GET' ? undefined : patient('')), status)
    assert.is(refused.root, 'OperationOutcome', url)
    assert.equal(refused.values('issue/severity'), ['error'], url)
  }
  const metadata = assertStatus(await client.send('GET', '/metadata'), 200)
  assert.is(metadata.root, 'CapabilityStatement')
  assert.ok(metadata.values('format').includes('application/fhir+xml'))
  assert.ok(metadata.values('patchFormat').includes('application/fhir+xml'))
  assert.is((await client.send('GET', '/metadata?mode=terminology')).root, 'TerminologyCapabilities')
})

test.run()
