/** tx-resource: definitions that a request brings, for one answer. */
// database: sqlite, because what a request brings is not stored
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import terminology from '../../../plugins/terminology/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

let server: TestServer
const headers = { 'content-type': 'application/fhir+json' }
const COLORS = 'http://colors.example'
const SET = 'http://sets.example/colors'
const colors = (version: string, ...codes: readonly string[]) => ({
  resourceType: 'CodeSystem',
  url: COLORS,
  version,
  status: 'active',
  content: 'complete',
  concept: codes.map((code) => ({ code, display: `The ${code}`, concept: [{ code: `dark-${code}` }] })),
})
const set = { resourceType: 'ValueSet', url: SET, status: 'active', compose: { include: [{ system: COLORS }] } }
const map = {
  resourceType: 'ConceptMap',
  url: 'http://maps.example/colors',
  status: 'active',
  group: [
    {
      source: COLORS,
      target: 'http://to.example',
      element: [{ code: 'red', target: [{ code: 'R', equivalence: 'equal' }] }],
    },
  ],
}

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins, terminology],
    settings: { conformance: { update_as_create: true } },
  })
})
test.after(() => server.stop())

type Parameter = Readonly<Record<string, unknown>>
const brought = (...resources: readonly object[]): Parameter[] =>
  resources.map((resource) => ({ name: 'tx-resource', resource }))
const post = async (url: string, ...parameter: readonly Parameter[]) => {
  const payload = JSON.stringify({ resourceType: 'Parameters', parameter })
  const answer = await server.inject({ method: 'POST', url, headers, payload })
  return { status: answer.statusCode, body: answer.json() as any }
}
const valueIn = ({ body }: { body: any }, name: string): unknown => {
  const found = body.parameter?.find((one: any) => one.name === name) ?? {}
  return Object.entries(found).find(([member]) => member.startsWith('value'))?.[1]
}
const codesOf = ({ body }: { body: any }): string =>
  (body.expansion?.contains ?? []).map(({ code }: any) => code).join(' ')
const url = { name: 'url', valueUri: SET }
const red = { name: 'coding', valueCoding: { system: COLORS, code: 'red' } }

test('$expand uses a value set and a code system of the request, for this answer only', async () => {
  const found = await post('/ValueSet/$expand', url, ...brought(set, colors('1', 'red')))
  assert.is(found.status, 200, JSON.stringify(found.body))
  assert.is(codesOf(found), 'red dark-red')
  assert.is(codesOf(await post('/ValueSet/$expand', url, ...brought(set, colors('1', 'blue')))), 'blue dark-blue')
  assert.is((await post('/ValueSet/$expand', url)).status, 404)
})

test('of several versions the highest is used, and another one where it is named', async () => {
  const both = brought(colors('9', 'old'), colors('10', 'new'))
  assert.is(codesOf(await post('/ValueSet/$expand', url, ...brought(set), ...both)), 'new dark-new')
  const version = { name: 'system-version', valueCanonical: `${COLORS}|9` }
  assert.is(codesOf(await post('/ValueSet/$expand', url, version, ...brought(set), ...both)), 'old dark-old')
})

test('$validate-code, $lookup and $subsumes use them', async () => {
  const yes = await post('/ValueSet/$validate-code', url, red, ...brought(set, colors('1', 'red')))
  assert.is(valueIn(yes, 'result'), true)
  assert.is(valueIn(yes, 'display'), 'The red')
  const inSystem = await post('/CodeSystem/$validate-code', red, ...brought(colors('1', 'blue')))
  assert.is(valueIn(inSystem, 'result'), false)
  assert.is(valueIn(await post('/CodeSystem/$lookup', red, ...brought(colors('1', 'red'))), 'display'), 'The red')
  const codingB = { name: 'codingB', valueCoding: { system: COLORS, code: 'dark-red' } }
  const above = await post(
    '/CodeSystem/$subsumes',
    { ...red, name: 'codingA' },
    codingB,
    ...brought(colors('1', 'red')),
  )
  assert.is(valueIn(above, 'outcome'), 'subsumes')
})

test('$translate uses maps of the request, named or not', async () => {
  const named = await post('/ConceptMap/$translate', { name: 'url', valueUri: map.url }, red, ...brought(map))
  assert.is(valueIn(named, 'result'), true)
  assert.is(valueIn(await post('/ConceptMap/$translate', red, ...brought(map)), 'result'), true)
  assert.is(valueIn(await post('/ConceptMap/$translate', red), 'result'), false)
})

test('a supplement of the request adds its designations', async () => {
  const supplement = {
    resourceType: 'CodeSystem',
    url: 'http://colors.example/de',
    status: 'active',
    content: 'supplement',
    supplements: COLORS,
    concept: [{ code: 'red', designation: [{ language: 'de', value: 'Rot' }] }],
  }
  const needing = {
    ...set,
    extension: [{ url: 'http://hl7.org/fhir/StructureDefinition/valueset-supplement', valueCanonical: supplement.url }],
  }
  const language = { name: 'displayLanguage', valueCode: 'de' }
  const { body } = await post('/ValueSet/$expand', url, language, ...brought(needing, colors('1', 'red'), supplement))
  assert.is(body.expansion.contains[0].display, 'Rot')
})

test('they come before what is stored, which stays as it is', async () => {
  const payload = JSON.stringify({ ...colors('1', 'stored'), id: 'colors' })
  await server.inject({ method: 'PUT', url: '/CodeSystem/colors', headers, payload })
  const sent = { ...set, url: 'http://sets.example/other' }
  const other = { name: 'url', valueUri: sent.url }
  assert.is(codesOf(await post('/ValueSet/$expand', other, ...brought(sent))), 'stored dark-stored')
  assert.is(codesOf(await post('/ValueSet/$expand', other, ...brought(sent, colors('1', 'sent')))), 'sent dark-sent')
  assert.is(codesOf(await post('/ValueSet/$expand', other, ...brought(sent))), 'stored dark-stored')
})

test('other resources, those without url, and cache-id are refused', async () => {
  const patient = await post('/ValueSet/$expand', url, ...brought({ resourceType: 'Patient' }))
  assert.is(patient.status, 400)
  assert.match(patient.body.issue[0].diagnostics, 'tx-resource')
  const nameless = await post('/ValueSet/$expand', url, ...brought({ resourceType: 'ValueSet', status: 'active' }))
  assert.is(nameless.status, 400)
  assert.match(nameless.body.issue[0].diagnostics, 'url')
  const cached = await post('/ValueSet/$expand', url, { name: 'cache-id', valueId: 'x' }, ...brought(set))
  assert.is(cached.status, 400)
  assert.match(cached.body.issue[0].diagnostics, 'cache-id')
  const whole = await server.inject({
    method: 'POST',
    url: '/CodeSystem/$lookup',
    headers,
    payload: JSON.stringify(colors('1', 'red')),
  })
  assert.is(whole.statusCode, 400, 'a body is no tx-resource')
  assert.match(whole.json().issue[0].diagnostics, 'CodeSystem')
})

test.run()
