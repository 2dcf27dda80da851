/** create, read, update, delete over HTTP. https://hl7.org/fhir/R4/http.html */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { serverWith, type TestServer } from '../support/server-with.ts'

const JSON_TYPE = { 'content-type': 'application/fhir+json' }
let server: TestServer
test.before(async () => {
  server = await serverWith()
})
test.after(() => server.stop())

const post = (payload: string, type = 'Patient') =>
  server.inject({ method: 'POST', url: `/${type}`, headers: JSON_TYPE, payload })

test('a created resource comes back byte for byte but for id and meta', async () => {
  const sent = '{"resourceType":"Observation", "status":"final",\n "code":{"text":"x"},"valueQuantity":{"value":1.00}}'
  const created = await post(sent, 'Observation')
  assert.is(created.statusCode, 201)
  const location = new URL(created.headers.location as string).pathname
  assert.match(location, /^\/Observation\/[0-9a-f-]{36}\/_history\/1$/)
  const read = await server.inject(location.replace('/_history/1', ''))
  assert.is(read.statusCode, 200)
  assert.is(read.headers.etag, 'W/"1"')
  assert.is(read.body, created.body)
  assert.is(read.body.replace(/,"id":"[^"]+","meta":\{[^}]+\}/, ''), sent)
})

test.run()
