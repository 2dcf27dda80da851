// database: memory
/** /metadata: valid, in each mode, compressed, and in a batch. https://hl7.org/fhir/R4/http.html#capabilities */
import { gunzipSync } from 'node:zlib'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../plugins/database/index.ts'
import terminology from '../../plugins/terminology/index.ts'
import validation from '../../plugins/validation/index.ts'
import { fhirPlugins } from '../support/fhir-plugins.ts'
import { assertRefused } from '../support/refused.ts'
import { serverWith, type TestServer } from '../support/server-with.ts'
import { stubDefinitions } from '../support/stub-definitions.ts'

type Json = Record<string, any>

let server: TestServer
test.before(async () => {
  server = await serverWith({ plugins: [database, stubDefinitions('all'), validation, ...fhirPlugins, terminology] })
})
test.after(() => server.stop())

const headers = { 'content-type': 'application/fhir+json' }
const get = async (url: string): Promise<Json> => {
  const answer = await server.inject(url)
  assert.is(answer.statusCode, 200, answer.body)
  return answer.json()
}
const post = (url: string, payload: Json) =>
  server.inject({ method: 'POST', url, headers, payload: JSON.stringify(payload) })

/** Places of empty arrays and objects, which FHIR JSON does not have. */
const emptyIn = (value: unknown, path = ''): readonly string[] => {
  if (typeof value !== 'object' || value === null) return []
  const entries = Object.entries(value)
  return entries.length === 0 ? [path] : entries.flatMap(([key, item]) => emptyIn(item, `${path}.${key}`))
}

for (const url of ['/metadata', '/metadata?mode=full', '/metadata?mode=normative', '/metadata?mode=terminology'])
  test(`${url} is valid by our own $validate`, async () => {
    const statement = await get(url)
    assert.equal(emptyIn(statement), [])
    const answer = await post(`/${statement.resourceType}/$validate`, statement)
    const wrong = answer.json().issue.filter(({ severity }: Json) => severity === 'error' || severity === 'fatal')
    assert.equal(wrong, [], JSON.stringify(wrong).slice(0, 2000))
  })

test('_summary and _elements choose what is shown, and an element that is not there is refused', async () => {
  const rest = await get('/metadata?_elements=rest')
  assert.ok(rest.rest.length === 1 && rest.fhirVersion !== undefined, 'with what is mandatory')
  assert.equal([rest.software, rest.meta.tag[0].code], [undefined, 'SUBSETTED'])
  for (const summary of ['true', 'count']) {
    const { software, text, meta } = await get(`/metadata?_summary=${summary}`)
    assert.equal([software !== undefined, text, meta.tag[0].code], [true, undefined, 'SUBSETTED'])
  }
  assert.is((await get('/metadata?mode=terminology&_elements=kind')).codeSystem, undefined)
  assertRefused(await server.inject('/metadata?_elements=foo'), { status: 400, code: 'not-supported' }, 'foo')
  assert.match((await server.inject('/metadata?_pretty=true')).body, /^\{\n {2}"resourceType"/)
})

test('mode=normative leaves out what is for trial use; full is what is said without a mode', async () => {
  const typesOf = async (url: string): Promise<readonly string[]> =>
    (await get(url)).rest[0].resource.map(({ type }: Json) => type)
  const normative = await typesOf('/metadata?mode=normative')
  for (const type of ['Patient', 'Observation', 'ValueSet']) assert.ok(normative.includes(type), type)
  for (const type of ['Encounter', 'Condition']) assert.not.ok(normative.includes(type), type)
  assert.equal(await typesOf('/metadata?mode=full'), await typesOf('/metadata'))
  assert.ok(normative.length < (await typesOf('/metadata')).length)
})

test('mode=terminology is answered with TerminologyCapabilities, any other mode refused', async () => {
  const statement = await get('/metadata?mode=terminology')
  assert.is(statement.resourceType, 'TerminologyCapabilities')
  assert.is(statement.kind, 'instance')
  assert.ok(statement.codeSystem.some(({ uri }: Json) => uri === 'http://hl7.org/fhir/administrative-gender'))
  assert.ok(statement.expansion.parameter.some(({ name }: Json) => name === 'url'))
  assert.ok(
    statement.codeSystem.some(({ uri }: Json) => uri === 'http://unitsofmeasure.org'),
    'a built-in one',
  )
  assert.equal(statement.validateCode, { translations: false })
  assert.equal(statement.translation, { needsMap: false })
  assert.equal(statement.closure, { translation: false })
  for (const mode of ['none', 'Full', ''])
    assertRefused(await server.inject(`/metadata?mode=${mode}`), { status: 400, code: 'value' }, mode)
})

test('it says what updates need, and which profiles are installed', async () => {
  const { resource } = (await get('/metadata')).rest[0]
  const observation = resource.find(({ type }: Json) => type === 'Observation')
  assert.is(observation.versioning, 'versioned')
  assert.ok(observation.supportedProfile.includes('http://hl7.org/fhir/StructureDefinition/bodyweight'))
  assert.ok(!observation.supportedProfile.includes(observation.profile))
  // As it says: the version need not be named, and is held against where it is.
  const { id } = (await post('/Patient', { resourceType: 'Patient' })).json()
  const put = (more: Record<string, string>) =>
    server.inject({
      method: 'PUT',
      url: `/Patient/${id}`,
      headers: { ...headers, ...more },
      payload: JSON.stringify({ resourceType: 'Patient', id, active: true }),
    })
  assert.is((await put({})).statusCode, 200)
  assert.is((await put({ 'if-match': 'W/"1"' })).statusCode, 412)
})

test('it is compressed for whoever takes gzip', async () => {
  const plain = await server.inject('/metadata')
  assert.is(plain.headers['content-encoding'], undefined)
  assert.is(plain.headers.vary, 'accept, accept-encoding')
  const answer = await server.inject({ url: '/metadata', headers: { 'accept-encoding': 'gzip' } })
  assert.is(answer.headers['content-encoding'], 'gzip')
  assert.is(answer.headers.vary, 'accept, accept-encoding')
  assert.ok(answer.rawPayload.length < plain.rawPayload.length / 4)
  assert.is(JSON.parse(gunzipSync(answer.rawPayload).toString()).resourceType, 'CapabilityStatement')
})

test('GET metadata and a posted search are entries of a batch like any other', async () => {
  await post('/Patient', { resourceType: 'Patient', name: [{ family: 'Batched' }] })
  const entry = (method: string, url: string, resource?: Json) => ({ request: { method, url }, resource })
  const answer = await post('/', {
    resourceType: 'Bundle',
    type: 'batch',
    entry: [
      entry('GET', 'metadata'),
      entry('GET', '/metadata?mode=terminology'),
      entry('GET', 'metadata?mode=none'),
      entry('POST', 'Patient/_search?family=Batched'),
      entry('POST', '_search?_type=Patient&family=Batched'),
      entry('POST', 'Patient/_search', { resourceType: 'Parameters' }),
      entry('POST', 'metadata', { resourceType: 'Parameters' }),
    ],
  })
  assert.is(answer.statusCode, 200, answer.body)
  const entries: Json[] = answer.json().entry
  assert.equal(
    entries.map(({ response }) => response.status.slice(0, 3)),
    ['200', '200', '400', '200', '200', '400', '405'],
  )
  assert.is(entries[0]!.resource.resourceType, 'CapabilityStatement')
  assert.is(entries[1]!.resource.resourceType, 'TerminologyCapabilities')
  for (const at of [3, 4]) {
    assert.is(entries[at]!.resource.type, 'searchset')
    assert.is(entries[at]!.resource.entry[0].resource.name[0].family, 'Batched')
  }
})

test.run()
