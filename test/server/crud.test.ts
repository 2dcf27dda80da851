/** create, read, update, delete over HTTP. https://hl7.org/fhir/R4/http.html */
// npm test: sqlite and postgres, whose statements differ
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { serverWith, type TestServer } from '../support/server-with.ts'

const JSON_TYPE = { 'content-type': 'application/fhir+json' }
let server: TestServer
test.before(async () => {
  server = await serverWith({ settings: { conformance: { update_as_create: true } } })
})
test.after(() => server.stop())

const post = (payload: string, headers: Record<string, string> = {}) => {
  const { resourceType } = JSON.parse(payload) as { resourceType: string }
  return server.inject({ method: 'POST', url: `/${resourceType}`, headers: { ...JSON_TYPE, ...headers }, payload })
}
const put = (id: string, payload: object, headers: Record<string, string> = {}) =>
  server.inject({
    method: 'PUT',
    url: `/Patient/${id}`,
    headers: { ...JSON_TYPE, ...headers },
    payload: JSON.stringify({ resourceType: 'Patient', id, ...payload }),
  })
const remove = (id: string, headers: Record<string, string> = {}) =>
  server.inject({ method: 'DELETE', url: `/Patient/${id}`, headers })
const codeOf = (answer: { json(): { issue: { code: string }[] } }): string | undefined => answer.json().issue[0]?.code

test('a created resource comes back byte for byte but for id and meta', async () => {
  const sent = '{"resourceType":"Observation", "status":"final",\n "code":{"text":"x"},"valueQuantity":{"value":1.00}}'
  const created = await post(sent)
  assert.is(created.statusCode, 201)
  const location = new URL(created.headers.location as string).pathname
  assert.match(location, /^\/Observation\/[0-9a-f-]{36}\/_history\/1$/)
  const read = await server.inject(location.replace('/_history/1', ''))
  assert.is(read.statusCode, 200)
  assert.is(read.headers['content-type'], 'application/fhir+json; charset=utf-8')
  assert.is(read.headers.etag, 'W/"1"')
  assert.is(read.body, created.body)
  assert.is(read.body.replace(/,"id":"[^"]+","meta":\{[^}]+\}/, ''), sent)
})

test('id and meta of the client keep their place; versionId and lastUpdated are the server’s, the rest of meta stays', async () => {
  const sent =
    '{ "meta" : {"versionId":"77","profile":["http://example.org/p"],"lastUpdated":"2001-01-01T00:00:00Z"} , "resourceType":"Patient","id" : "mine","active":true}'
  const answer = await server.inject({ method: 'PUT', url: '/Patient/mine', headers: JSON_TYPE, payload: sent })
  assert.is(answer.statusCode, 201)
  const { meta } = answer.json() as { meta: { lastUpdated: string } }
  assert.is(
    answer.body,
    `{ "meta" : {"versionId":"1","lastUpdated":"${meta.lastUpdated}","profile":["http://example.org/p"]} , "resourceType":"Patient","id" : "mine","active":true}`,
  )
  assert.is.not(meta.lastUpdated, '2001-01-01T00:00:00Z')
})

test('ids given by the server grow with time', async () => {
  const ids: string[] = []
  for (let n = 0; n < 5; n += 1) {
    const { id } = (await post('{"resourceType":"Patient"}')).json() as { id: string }
    ids.push(id.slice(0, 13))
  }
  assert.equal(ids, [...ids].sort())
})

test('a created resource ignores the id the client sent', async () => {
  const { id } = (await post('{"resourceType":"Patient","id":"not-mine"}')).json() as { id: string }
  assert.is.not(id, 'not-mine')
  assert.is((await server.inject('/Patient/not-mine')).statusCode, 404)
})

test('an update makes the next version and the old one stays readable', async () => {
  assert.is((await put('u1', { active: true })).statusCode, 201)
  const second = await put('u1', { active: false })
  assert.is(second.statusCode, 200)
  assert.is(second.headers.etag, 'W/"2"')
  assert.is(second.headers.location, undefined)
  const first = await server.inject('/Patient/u1/_history/1')
  assert.is((first.json() as { active: boolean }).active, true)
  assert.is((await server.inject('/Patient/u1/_history/2')).body, (await server.inject('/Patient/u1')).body)
  assert.is((await server.inject('/Patient/u1/_history/3')).statusCode, 404)
})

test('a deleted resource answers 410, its versions stay, and an update brings it back', async () => {
  await put('d1', { active: true })
  const deleted = await remove('d1')
  assert.is(deleted.statusCode, 204)
  assert.is(deleted.body, '')
  assert.is(deleted.headers.etag, 'W/"2"')
  const gone = await server.inject('/Patient/d1')
  assert.is(gone.statusCode, 410)
  assert.is(codeOf(gone), 'deleted')
  assert.is((await server.inject('/Patient/d1/_history/2')).statusCode, 410)
  assert.is((await server.inject('/Patient/d1/_history/1')).statusCode, 200)
  const back = await put('d1', { active: false })
  assert.is(back.statusCode, 201)
  assert.is(back.headers.etag, 'W/"3"')
})

test('deleting twice, or what never was, is 204 and makes no version', async () => {
  await put('d2', {})
  await remove('d2')
  const again = await remove('d2')
  assert.is(again.statusCode, 204)
  assert.is(again.headers.etag, 'W/"2"')
  assert.is((await remove('never')).statusCode, 204)
  assert.is((await server.inject('/Patient/never')).statusCode, 404)
})

test('PUT to a missing id answers 405 while update_as_create is off', async () => {
  const strict = await serverWith()
  const payload = '{"resourceType":"Patient","id":"p1"}'
  const answer = await strict.inject({ method: 'PUT', url: '/Patient/p1', headers: JSON_TYPE, payload })
  assert.is(answer.statusCode, 405)
  assert.is(answer.headers.allow, 'GET, HEAD, DELETE')
  assert.is(codeOf(answer), 'not-supported')
  const created = (await strict.inject({ method: 'POST', url: '/Patient', headers: JSON_TYPE, payload })).json() as {
    id: string
  }
  const update = `{"resourceType":"Patient","id":"${created.id}","active":true}`
  const updated = await strict.inject({
    method: 'PUT',
    url: `/Patient/${created.id}`,
    headers: JSON_TYPE,
    payload: update,
  })
  assert.is(updated.statusCode, 200)
  await strict.stop()
})

test('If-Match lets one of two updates through and names the current version to the other', async () => {
  await put('m1', {})
  assert.is((await put('m1', { active: true }, { 'if-match': 'W/"1"' })).statusCode, 200)
  const late = await put('m1', { active: false }, { 'if-match': 'W/"1"' })
  assert.is(late.statusCode, 412)
  assert.is(codeOf(late), 'conflict')
  assert.match(late.json().issue[0].diagnostics, /is 2/)
  assert.is((await remove('m1', { 'if-match': 'W/"1"' })).statusCode, 412)
  assert.is((await remove('m1', { 'if-match': 'W/"2"' })).statusCode, 204)
})

test('If-None-Match: * lets an update make a resource but not change one', async () => {
  assert.is((await put('n1', {}, { 'if-none-match': '*' })).statusCode, 201)
  assert.is((await put('n1', {}, { 'if-none-match': '*' })).statusCode, 412)
})

test('a read of what the client has is 304, by version and by date', async () => {
  await put('c1', {})
  const read = await server.inject('/Patient/c1')
  const etag = read.headers.etag as string
  const unchanged = await server.inject({ url: '/Patient/c1', headers: { 'if-none-match': etag } })
  assert.is(unchanged.statusCode, 304)
  assert.is(unchanged.body, '')
  const since = read.headers['last-modified'] as string
  assert.is((await server.inject({ url: '/Patient/c1', headers: { 'if-modified-since': since } })).statusCode, 304)
  const before = new Date(Date.parse(since) - 5000).toUTCString()
  assert.is((await server.inject({ url: '/Patient/c1', headers: { 'if-modified-since': before } })).statusCode, 200)
  await put('c1', { active: true })
  assert.is((await server.inject({ url: '/Patient/c1', headers: { 'if-none-match': etag } })).statusCode, 200)
})

test('Prefer chooses nothing, the resource or an outcome', async () => {
  const minimal = await post('{"resourceType":"Patient"}', { prefer: 'return=minimal' })
  assert.is(minimal.statusCode, 201)
  assert.is(minimal.body, '')
  assert.ok(minimal.headers.location)
  const outcome = await post('{"resourceType":"Patient"}', { prefer: 'return=OperationOutcome' })
  assert.is((outcome.json() as { resourceType: string }).resourceType, 'OperationOutcome')
  const resource = await post('{"resourceType":"Patient"}', { prefer: 'return=representation' })
  assert.is((resource.json() as { resourceType: string }).resourceType, 'Patient')
})

test('HEAD answers like GET without a body', async () => {
  await put('h1', {})
  const get = await server.inject('/Patient/h1')
  const head = await server.inject({ method: 'HEAD', url: '/Patient/h1' })
  assert.is(head.statusCode, 200)
  assert.is(head.body, '')
  assert.is(head.headers.etag, get.headers.etag)
  assert.is(head.headers['content-length'], get.headers['content-length'])
})

test('a method an address does not take is 405 with Allow', async () => {
  const patient = await server.inject({ method: 'POST', url: '/Patient/p1', headers: JSON_TYPE, payload: '{}' })
  assert.is(patient.statusCode, 405)
  assert.is(patient.headers.allow, 'GET, HEAD, PUT, PATCH, DELETE')
  const type = await server.inject({ method: 'PUT', url: '/Patient', headers: JSON_TYPE, payload: '{}' })
  assert.is(type.statusCode, 405)
  assert.match(type.headers.allow as string, /POST/)
})

test('a type no package brought is 404 and the type of the body must be that of the address', async () => {
  assert.is((await server.inject('/Foo/1')).statusCode, 404)
  const foo = await server.inject({
    method: 'POST',
    url: '/Patient',
    headers: JSON_TYPE,
    payload: '{"resourceType":"Foo"}',
  })
  assert.is(foo.statusCode, 400)
  assert.is(codeOf(foo), 'structure')
  const other = await server.inject({
    method: 'POST',
    url: '/Patient',
    headers: JSON_TYPE,
    payload: '{"resourceType":"Observation"}',
  })
  assert.is(other.statusCode, 400)
  assert.is(codeOf(other), 'invalid')
})

test('a client that takes gzip gets the stored bytes, another the plain ones', async () => {
  const text = 'a long narrative '.repeat(100)
  await put('g1', { name: [{ text }] })
  const packed = await server.inject({ url: '/Patient/g1', headers: { 'accept-encoding': 'gzip' } })
  assert.is(packed.headers['content-encoding'], 'gzip')
  assert.ok(packed.rawPayload.length < text.length)
  const { gunzipSync } = await import('node:zlib')
  assert.is(gunzipSync(packed.rawPayload).toString(), (await server.inject('/Patient/g1')).body)
  const refused = await server.inject({ url: '/Patient/g1', headers: { 'accept-encoding': 'gzip;q=0' } })
  assert.is(refused.headers['content-encoding'], undefined)
})

test('_pretty, _elements and _summary keep the digits of numbers', async () => {
  const sent =
    '{"resourceType":"Observation","status":"final","code":{"text":"x"},"valueQuantity":{"value":1.00},"text":{"status":"empty","div":"<div xmlns=\\"http://www.w3.org/1999/xhtml\\">-</div>"},"note":[{"text":"n"}]}'
  const { id } = (await post(sent)).json() as { id: string }
  const pretty = await server.inject(`/Observation/${id}?_pretty=true`)
  assert.match(pretty.body, /\n {4}"value": 1\.00\n/)
  const elements = await server.inject(`/Observation/${id}?_elements=value`)
  assert.match(elements.body, /"valueQuantity":\{"value":1\.00\}/)
  assert.match(elements.body, /"status":"final"/)
  assert.not.match(elements.body, /"note"/)
  assert.match(elements.body, /SUBSETTED/)
  const summary = (await server.inject(`/Observation/${id}?_summary=true`)).json() as Record<string, unknown>
  assert.is(summary.note, undefined)
  assert.ok(summary.valueQuantity)
  const text = (await server.inject(`/Observation/${id}?_summary=text`)).json() as Record<string, unknown>
  assert.ok(text.text)
  assert.is(text.valueQuantity, undefined)
  const data = (await server.inject(`/Observation/${id}?_summary=data`)).json() as Record<string, unknown>
  assert.is(data.text, undefined)
  assert.ok(data.note)
})

test('JSON in every spelling of the media type is taken and given, anything else is 406 or 415', async () => {
  for (const type of [
    'application/fhir+json',
    'application/json',
    'text/json',
    'application/fhir+json; charset=UTF-8',
    'application/fhir+json;fhirVersion=4.0',
  ]) {
    const headers = { 'content-type': type, accept: type }
    const answer = await server.inject({
      method: 'POST',
      url: '/Patient',
      headers,
      payload: '{"resourceType":"Patient"}',
    })
    assert.is(answer.statusCode, 201, type)
  }
  for (const format of ['json', 'application/json', 'application/fhir%2Bjson', 'application/fhir+json', 'text/json'])
    assert.is((await server.inject(`/metadata?_format=${format}`)).statusCode, 200, format)
  assert.is((await server.inject('/metadata?_format=ttl')).statusCode, 406)
  assert.is((await server.inject({ url: '/metadata', headers: { accept: 'text/html' } })).statusCode, 406)
  assert.is((await server.inject({ url: '/metadata', headers: { accept: 'text/html, */*;q=0.1' } })).statusCode, 200)
  const turtle = await server.inject({
    method: 'POST',
    url: '/Patient',
    headers: { 'content-type': 'application/fhir+turtle' },
    payload: '[] a fhir:Patient .',
  })
  assert.is(turtle.statusCode, 415)
})

test('an unknown parameter is refused with the known ones, and ignored when asked to be lenient', async () => {
  await put('q1', {})
  const refused = await server.inject('/Patient/q1?_bogus=1')
  assert.is(refused.statusCode, 400)
  assert.match(refused.json().issue[0].diagnostics, /_bogus.*_summary/)
  const lenient = await server.inject({ url: '/Patient/q1?_bogus=1', headers: { prefer: 'handling=lenient' } })
  assert.is(lenient.statusCode, 200)
})

test('/metadata names the types of the installed packages and what is done with them', async () => {
  const statement = (await server.inject('/metadata')).json() as {
    fhirVersion: string
    rest: { resource: { type: string; interaction: { code: string }[]; updateCreate: boolean }[] }[]
  }
  assert.is(statement.fhirVersion, '4.0.1')
  const patient = statement.rest[0]?.resource.find(({ type }) => type === 'Patient')
  assert.ok(patient?.interaction.some(({ code }) => code === 'vread'))
  assert.is(patient?.updateCreate, true)
  assert.is(
    statement.rest[0]?.resource.some(({ type }) => type === 'DomainResource'),
    false,
  )
})

test.run()
