/** Code systems whose url holds a bar, as six of R4 do: a name counts whole before it counts as a url with a version. */
// database: sqlite, because names are split in the process; terminology/operations.test.ts is on each kind
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import terminology from '../../../plugins/terminology/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

type Json = Record<string, any>

let server: TestServer
const headers = { 'content-type': 'application/fhir+json' }
const get = async (url: string): Promise<{ readonly status: number; readonly json: Json; readonly text: string }> => {
  const answer = await server.inject({ method: 'GET', url })
  return { status: answer.statusCode, json: answer.json() as Json, text: answer.body }
}
const put = async (resource: Json): Promise<void> => {
  const url = `/${resource.resourceType}/${resource.id}`
  const answer = await server.inject({ method: 'PUT', url, headers, payload: JSON.stringify(resource) })
  assert.ok(answer.statusCode < 300, answer.body)
}
const STORED = 'http://stored.example/cs'
const codeSystem = (id: string, url: string, version: string, code: string): Json => ({
  resourceType: 'CodeSystem',
  ...{ id, url, version, status: 'active', content: 'complete', concept: [{ code, display: `of ${id}` }] },
})
const valueSet = (id: string, system: string): Json => ({
  resourceType: 'ValueSet',
  ...{ id, url: `http://sets.example/${id}`, status: 'active', compose: { include: [{ system }] } },
})

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins, terminology],
    settings: { conformance: { update_as_create: true } },
  })
  await put(codeSystem('whole', `${STORED}|2.1`, '7', 'whole'))
  await put(codeSystem('versioned', STORED, '3', 'versioned'))
  await put(valueSet('whole', `${STORED}|2.1`))
  await put(valueSet('versioned', `${STORED}|3`))
})
test.after(() => server.stop())

const V2 = 'http://terminology.hl7.org/CodeSystem/v2-'
const SYSTEMS = ['0006|2.1', '0006|2.4', '0360|2.3.1', '0360|2.7', '0391|2.4', '0391|2.6']

test('those of R4 are found, and the value sets of them are expanded', async () => {
  for (const name of SYSTEMS) {
    const [table, release] = name.split('|') as [string, string]
    const expanded = await get(`/ValueSet/$expand?url=http://terminology.hl7.org/ValueSet/v2-${release}-${table}`)
    assert.is(expanded.status, 200, expanded.text)
    const [first] = expanded.json.expansion.contains
    assert.is(first.system, V2 + name)
    const found = await get(`/CodeSystem/$lookup?system=${V2}${name}&code=${first.code}`)
    assert.is(found.status, 200, found.text)
    const checked = await get(`/CodeSystem/$validate-code?url=${V2}${name}&code=${first.code}`)
    assert.is(checked.json.parameter[0].valueBoolean, true, checked.text)
    const same = await get(`/CodeSystem/$subsumes?system=${V2}${name}&codeA=${first.code}&codeB=${first.code}`)
    assert.is(same.status, 200, same.text)
  }
})

test('stored ones too, alone and with their version', async () => {
  for (const query of ['', '&version=7']) {
    const found = await get(`/CodeSystem/$lookup?system=${STORED}|2.1&code=whole${query}`)
    assert.is(found.status, 200, found.text)
  }
  assert.is((await get(`/CodeSystem/$lookup?system=${STORED}|2.1&code=whole&version=8`)).status, 404)
  const expanded = await get('/ValueSet/$expand?url=http://sets.example/whole')
  assert.equal(expanded.json.expansion?.contains, [{ system: `${STORED}|2.1`, code: 'whole', display: 'of whole' }])
  const coding = await get(`/ValueSet/$validate-code?url=http://sets.example/whole&system=${STORED}|2.1&code=whole`)
  assert.is(coding.json.parameter[0].valueBoolean, true, coding.text)
})

test('a url with a version is still split at its bar', async () => {
  assert.is((await get(`/CodeSystem/$lookup?system=${STORED}|3&code=versioned`)).status, 200)
  assert.is((await get(`/CodeSystem/$lookup?system=${STORED}|4&code=versioned`)).status, 404)
  assert.is((await get(`/CodeSystem/$lookup?system=${STORED}|3&code=versioned&version=4`)).status, 400)
  const expanded = await get('/ValueSet/$expand?url=http://sets.example/versioned')
  assert.is(expanded.json.expansion?.contains[0].system, STORED)
})

test.run()
