/** `_pretty=true` indents whatever is JSON: Bundles as a whole, errors, and what shows the use of the server. */
// database: sqlite, because answers are indented when they are made
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { indentJson } from '../../../kernel/index.ts'
import audit from '../../../plugins/audit/index.ts'
import metering from '../../../plugins/metering/index.ts'
import requestLog from '../../../plugins/request-log/index.ts'
import { basic, serverWith, type TestServer } from '../../support/server-with.ts'

const FHIR = { 'content-type': 'application/fhir+json' }
let server: TestServer

const indented = (text: string): string => JSON.stringify(JSON.parse(text), null, 2)

/** JSON.parse does not keep the last digit. */
const withoutZero = (text: string): string => text.replaceAll('"valueDecimal": 1.50', '"valueDecimal": 1.5')

test.before(async () => {
  server = await serverWith({
    plugins: [...basic, audit, metering, requestLog],
    settings: {
      conformance: { update_as_create: true },
      request_log: { store: true },
      fhir: { large_body_bytes: 4096 },
    },
  })
  const put = async (id: string, family: string): Promise<void> => {
    const payload = `{"resourceType":"Patient",  "id":"${id}", "name":[{"family":${JSON.stringify(family)}}], "extension":[{"url":"http://e.org/x","valueDecimal":1.50}]}`
    const answer = await server.inject({ method: 'PUT', url: `/Patient/${id}`, headers: FHIR, payload })
    assert.ok(answer.statusCode < 300, answer.body)
  }
  await put('a', 'Ärger "quoted" \\ {[,:]} \n')
  await put('large', 'x'.repeat(8_000))
  await put('a', 'Later')
  await server.inject({ method: 'DELETE', url: '/Patient/large?_pretty=true' })
  await put('large', 'y'.repeat(8_000))
})
test.after(() => server.stop())

for (const [name, url] of [
  ['a search', '/Patient?_pretty=true'],
  ['a search that shows elements', '/Patient?_elements=name&_pretty=true'],
  ['a search without matches', '/Patient?name=nobody&_pretty=true'],
  ['a search of all types', '/?_type=Patient&_pretty=true'],
  ['a history', '/Patient/a/_history?_pretty=true'],
  ['the history of all', '/_history?_pretty=true'],
  ['an operation', '/Patient/a/$everything?_pretty=true'],
  ['the capability statement', '/metadata?_pretty=true'],
  ['a resource that is not there', '/Patient/none?_pretty=true'],
  ['a parameter that is not known', '/Patient?nonsense=1&_pretty=true'],
  ['an address that is not there', '/a/b/c/d/e?_pretty=true'],
  ['/_usage', '/_usage?_pretty=true'],
  ['/_requests', '/_requests?_pretty=true'],
  ['/_audit', '/_audit?_pretty=true'],
  ['an AuditEvent', '/AuditEvent/1?_pretty=true'],
  ['a verdict', '/_audit/verify?_pretty=true'],
] as const)
  test(`${name} is indented with _pretty=true, and only with it`, async () => {
    const { body } = await server.inject(url)
    assert.is(withoutZero(body), indented(body))
    assert.match(body, /^\{\n {2}"/)
    const plain = await server.inject(url.replace('_pretty=true', '_pretty=false'))
    assert.not.match(plain.body, /^\{\n/)
  })

test('a Bundle that was posted, and the outcome of a change, are indented too', async () => {
  const payload = JSON.stringify({
    resourceType: 'Bundle',
    type: 'batch',
    entry: [{ request: { method: 'GET', url: 'Patient/a' } }, { request: { method: 'GET', url: 'Patient/none' } }],
  })
  const { body } = await server.inject({ method: 'POST', url: '/?_pretty=true', headers: FHIR, payload })
  assert.is(withoutZero(body), indented(body))
  const changed = await server.inject({
    method: 'PUT',
    url: '/Patient/b?_pretty=true',
    headers: { ...FHIR, prefer: 'return=OperationOutcome' },
    payload: '{"resourceType":"Patient","id":"b"}',
  })
  assert.is(changed.body, indented(changed.body))
})

test('a search keeps the digits of numbers and the links of its parameters', async () => {
  const { body } = await server.inject('/Patient?_id=a&_pretty=true')
  assert.match(body, /"valueDecimal": 1\.50\n/)
  assert.match(body, /"url": "http[^"]*\?_id=a&[^"]*_pretty=true[^"]*"/)
})

test('another value than true or false is refused', async () => {
  assert.is((await server.inject('/_usage?_pretty=yes')).statusCode, 400)
  assert.is((await server.inject('/_usage?_pretty=true&_pretty=true')).statusCode, 400)
})

test('strings with brackets, quotes and backslashes are not taken apart, and empty lists stay on their line', () => {
  const value = { a: [], b: {}, c: [[]], d: ['\\"', '}{', '\\\\', ''], e: { f: [1, -2.5e10, true, null] } }
  assert.is(indentJson(JSON.stringify(value)), JSON.stringify(value, null, 2))
  assert.is(indentJson(' { "a" : [ 1 , 2 ] }\n'), '{\n  "a": [\n    1,\n    2\n  ]\n}')
  assert.is(indentJson('"text"'), '"text"')
})

test.run()
