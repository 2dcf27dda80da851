/**
 * What $validate-code says of a code besides true or false: issues with the types of HL7's terminology ecosystem, and the
 * parts of the code that was found.
 */
// database: sqlite, because codes are checked in the process; terminology/operations.test.ts is on each kind
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import terminology from '../../../plugins/terminology/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

let server: TestServer
const headers = { 'content-type': 'application/fhir+json' }
const [COLORS, SET, PART] = ['http://colors.example', 'http://sets.example/warm', 'http://part.example']

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins, terminology],
    settings: { conformance: { update_as_create: true } },
  })
  const put = async (resource: any): Promise<void> => {
    const payload = JSON.stringify({ status: 'active', ...resource })
    const url = `/${resource.resourceType}/${resource.id}`
    const answer = await server.inject({ method: 'PUT', url, headers, payload })
    assert.ok(answer.statusCode < 300, answer.body)
  }
  await put({
    resourceType: 'CodeSystem',
    id: 'colors',
    url: COLORS,
    version: '3',
    content: 'complete',
    caseSensitive: false,
    property: [
      { code: 'status', type: 'code', uri: 'http://hl7.org/fhir/concept-properties#status' },
      { code: 'notSelectable', type: 'boolean', uri: 'http://hl7.org/fhir/concept-properties#notSelectable' },
    ],
    concept: [
      {
        code: 'warm',
        property: [{ code: 'notSelectable', valueBoolean: true }],
        concept: [
          { code: 'red', display: 'Bright red' },
          { code: 'puce', display: 'Puce', property: [{ code: 'status', valueCode: 'retired' }] },
        ],
      },
      { code: 'blue', display: 'Blue' },
    ],
  })
  await put({
    resourceType: 'ValueSet',
    id: 'warm',
    url: SET,
    compose: { include: [{ system: COLORS, filter: [{ property: 'concept', op: 'is-a', value: 'warm' }] }] },
  })
  await put({
    resourceType: 'ValueSet',
    id: 'old',
    url: 'http://sets.example/old',
    compose: { include: [{ system: COLORS, version: '3', concept: [{ code: 'red' }] }] },
  })
  await put({ resourceType: 'CodeSystem', id: 'part', url: PART, content: 'fragment', concept: [{ code: 'known' }] })
  await put({
    resourceType: 'ValueSet',
    id: 'part',
    url: 'http://sets.example/part',
    compose: { include: [{ system: PART }] },
  })
})
test.after(() => server.stop())

const post = async (at: string, ...parameter: readonly object[]) => {
  const payload = JSON.stringify({ resourceType: 'Parameters', parameter })
  const answer = await server.inject({ method: 'POST', url: `/${at}/$validate-code`, headers, payload })
  assert.is(answer.statusCode, 200, answer.body)
  const all = (answer.json() as any).parameter as any[]
  const value = (name: string): any => {
    const found = all.find((one) => one.name === name) ?? {}
    return Object.entries(found).find(([member]) => member !== 'name')?.[1]
  }
  const ids: string[] = []
  const issues = ((value('issues')?.issue ?? []) as any[]).map(({ extension, severity, code, details, expression }) => {
    assert.is(extension[0].url, 'http://hl7.org/fhir/StructureDefinition/operationoutcome-message-id')
    ids.push(extension[0].valueString)
    assert.is(details.coding[0].system, 'http://hl7.org/fhir/tools/CodeSystem/tx-issue-type')
    assert.ok(details.text.length > 0)
    return `${severity} ${code} ${details.coding[0].code} ${expression?.join() ?? '-'}`
  })
  return { value, issues, ids, names: all.map(({ name }) => name) }
}
const set = (url = SET) => ({ name: 'url', valueUri: url })
const coding = (code: string, more: object = {}) => ({ name: 'coding', valueCoding: { system: COLORS, code, ...more } })
const concept = (...codings: readonly object[]) => ({
  name: 'codeableConcept',
  valueCodeableConcept: { coding: codings },
})

test('a valid code has its code, system, version and display, and no issues', async () => {
  const { value, names } = await post('ValueSet', set(), coding('red'))
  assert.equal(names, ['result', 'display', 'code', 'system', 'version'])
  assert.equal(['result', 'code', 'system', 'version', 'display'].map(value), [true, 'red', COLORS, '3', 'Bright red'])
})

test('a code that is not in the value set, and one that is not in its code system either', async () => {
  const blue = await post('ValueSet', set(), coding('blue'))
  assert.equal(blue.issues, ['error code-invalid not-in-vs Coding.code'])
  assert.equal(blue.ids, ['None_of_the_provided_codes_are_in_the_value_set_one'])
  assert.equal(['code', 'version', 'display'].map(blue.value), ['blue', '3', 'Blue'])
  assert.is(blue.value('issues').issue[0].details.text, blue.value('message'))
  const unknown = await post('ValueSet', set(), coding('nonsense'))
  assert.equal(unknown.issues, [
    'error code-invalid not-in-vs Coding.code',
    'error code-invalid invalid-code Coding.code',
  ])
  assert.is(unknown.ids[1], 'Unknown_Code_in_Version')
  const elsewhere = await post('ValueSet', set(), coding('red', { system: 'http://absent.example' }))
  assert.equal(elsewhere.issues, [
    'error code-invalid not-in-vs Coding.code',
    'error not-found not-found Coding.system',
  ])
  assert.is(elsewhere.value('x-unknown-system'), 'http://absent.example')
  assert.is(elsewhere.ids[1], 'UNKNOWN_CODESYSTEM')
})

test('code and system are named as such, and a coding without a system is no data', async () => {
  const code = await post('ValueSet', set(), { name: 'code', valueCode: 'blue' }, { name: 'system', valueUri: COLORS })
  assert.equal(code.issues, ['error code-invalid not-in-vs code'])
  const bare = await post('ValueSet', set(), { name: 'coding', valueCoding: { code: 'red' } })
  assert.equal(bare.issues, ['error code-invalid not-in-vs Coding.code', 'error invalid invalid-data Coding'])
})

test('a concept: each coding, and the whole', async () => {
  const [red, blue, none] = [{ system: COLORS, code: 'red' }, { system: COLORS, code: 'blue' }, { text: 'no code' }]
  const wrong = await post('ValueSet', set(), concept(none, blue, { system: COLORS, code: 'x' }))
  assert.is(wrong.value('result'), false)
  assert.equal(wrong.issues, [
    'error code-invalid not-in-vs -',
    'information code-invalid this-code-not-in-vs CodeableConcept.coding[1].code',
    'information code-invalid this-code-not-in-vs CodeableConcept.coding[2].code',
    'error code-invalid invalid-code CodeableConcept.coding[2].code',
  ])
  assert.equal(wrong.value('codeableConcept'), { coding: [none, blue, { system: COLORS, code: 'x' }] })
  const right = await post('ValueSet', set(), concept(blue, red))
  assert.is(right.value('result'), true)
  assert.is(right.value('code'), 'red')
  assert.equal(right.issues, ['information code-invalid this-code-not-in-vs CodeableConcept.coding[0].code'])
})

test('a wrong display, an abstract code, another version', async () => {
  const display = await post('ValueSet', set(), coding('red', { display: 'Green' }))
  assert.equal(display.issues, ['error invalid invalid-display Coding.display'])
  assert.is(display.value('display'), 'Bright red')
  const abstract = await post('ValueSet', set(), coding('warm'), { name: 'abstract', valueBoolean: false })
  assert.equal(abstract.issues, [
    'error business-rule code-rule Coding.code',
    'error code-invalid not-in-vs Coding.code',
  ])
  assert.is(abstract.ids[0], 'ABSTRACT_CODE_NOT_ALLOWED')
  const version = await post('ValueSet', set('http://sets.example/old'), coding('red', { version: '2' }))
  assert.equal(version.issues, ['error invalid vs-invalid Coding.version'])
})

test('a code in another case is valid and has a normalized code', async () => {
  const { value, issues } = await post('ValueSet', set(), coding('RED'))
  assert.is(value('result'), true)
  assert.is(value('code'), 'RED')
  assert.is(value('normalized-code'), 'red')
  assert.is(value('message'), undefined)
  assert.equal(issues, ['information business-rule code-rule Coding.code'])
})

test('an inactive code is valid, with its status and a warning', async () => {
  const { value, issues } = await post('ValueSet', set(), coding('puce'))
  assert.is(value('result'), true)
  assert.is(value('inactive'), true)
  assert.is(value('status'), 'retired')
  assert.match(value('message'), 'inactive')
  assert.equal(issues, ['warning business-rule code-comment Coding'])
})

test('a code that a fragment does not have is valid with a warning', async () => {
  const { value, issues } = await post('ValueSet', set('http://sets.example/part'), coding('x', { system: PART }))
  assert.is(value('result'), true)
  assert.equal(issues, ['warning code-invalid invalid-code Coding.code'])
})

test('of a code system: an unknown code, another system, another version', async () => {
  const unknown = await post('CodeSystem', { name: 'url', valueUri: COLORS }, { name: 'code', valueCode: 'nonsense' })
  assert.equal(unknown.issues, ['error code-invalid invalid-code code'])
  assert.is(unknown.value('code'), 'nonsense')
  const url = { name: 'url', valueUri: COLORS }
  const other = await post('CodeSystem', url, coding('x', { system: 'http://other.example' }))
  assert.equal(other.issues, ['error code-invalid invalid-code Coding.system'])
  const version = await post('CodeSystem', url, coding('red', { version: '9' }))
  assert.equal(version.issues, ['error not-found not-found Coding.version'])
  const found = await post('CodeSystem', url, coding('red'))
  assert.equal(found.names, ['result', 'display', 'code', 'system', 'version'])
})

test.run()
