/** CodeSystem/$find-matches. https://hl7.org/fhir/R4/codesystem-operation-find-matches.html */
// database: sqlite, because small code systems are searched in the process; terminology/indexed.test.ts is on each kind
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import terminology from '../../../plugins/terminology/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

let server: TestServer
const headers = { 'content-type': 'application/fhir+json' }
const TESTS = 'http://tests.example'

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins, terminology],
    settings: { conformance: { update_as_create: true } },
  })
  const concept = (code: string, display: string, sample: string, scale: string) => ({
    code,
    display,
    property: [
      { code: 'sample', valueCoding: { system: 'http://samples.example', code: sample } },
      { code: 'scale', valueCode: scale },
    ],
  })
  const payload = JSON.stringify({
    resourceType: 'CodeSystem',
    id: 'tests',
    url: TESTS,
    version: '4',
    status: 'active',
    content: 'complete',
    property: [
      { code: 'sample', type: 'Coding' },
      { code: 'scale', type: 'code' },
    ],
    concept: [
      concept('glu-b', 'Glucose in blood', 'blood', 'Qn'),
      concept('glu-u', 'Glucose in urine', 'urine', 'Qn'),
      concept('col-u', 'Colour of urine', 'urine', 'Nom'),
      { code: 'other', display: 'Sugar, seen in blood' },
    ],
  })
  const answer = await server.inject({ method: 'PUT', url: '/CodeSystem/tests', headers, payload })
  assert.ok(answer.statusCode < 300, answer.body)
})
test.after(() => server.stop())

const property = (code: string, value: object, ...more: readonly object[]) => ({
  name: 'property',
  part: [{ name: 'code', valueCode: code }, { name: 'value', ...value }, ...more],
})
const exact = { name: 'exact', valueBoolean: true }
const blood = property('sample', { valueCoding: { system: 'http://samples.example', code: 'blood' } })
const urine = property('sample', { valueCode: 'urine' })
const quantitative = property('scale', { valueCode: 'Qn' })

const ask = async (parameter: readonly object[], at = '/CodeSystem/$find-matches') => {
  const all = at.includes('/tests/') ? parameter : [{ name: 'system', valueUri: TESTS }, ...parameter]
  const payload = JSON.stringify({ resourceType: 'Parameters', parameter: all })
  const answer = await server.inject({ method: 'POST', url: at, headers, payload })
  const body = answer.json() as any
  const part = (one: any, name: string) => one.part.filter((each: any) => each.name === name)
  return {
    status: answer.statusCode,
    body,
    matches: (body.parameter ?? []).map((one: any) => ({
      coding: part(one, 'code')[0].valueCoding,
      unmatched: part(one, 'unmatched').map((each: any) => each.part),
      comment: part(one, 'comment')[0]?.valueString,
    })),
  }
}
const codes = ({ matches }: Awaited<ReturnType<typeof ask>>): string =>
  matches.map(({ coding }: any) => coding.code).join()

test('exact: codes with all properties, then those with some, which name what they do not have', async () => {
  const found = await ask([blood, quantitative, exact])
  assert.is(found.status, 200, JSON.stringify(found.body))
  assert.is(codes(found), 'glu-b,glu-u')
  assert.equal(found.matches[0], {
    coding: { system: TESTS, version: '4', code: 'glu-b', display: 'Glucose in blood' },
    unmatched: [],
    comment: undefined,
  })
  assert.equal(found.matches[1].unmatched, [
    [
      { name: 'code', valueCode: 'sample' },
      { name: 'value', valueCoding: { system: 'http://samples.example', code: 'blood' } },
    ],
  ])
  assert.is(codes(await ask([urine, property('scale', { valueCode: 'Nom' }), exact])), 'col-u,glu-u')
})

test('otherwise also codes whose texts have a value, with a comment', async () => {
  const text = property('analyte', { valueString: 'glucose' })
  assert.is(codes(await ask([text, exact])), '')
  const found = await ask([text, urine])
  assert.is(codes(found), 'glu-u,col-u,glu-b')
  assert.match(found.matches[0].comment, 'analyte')
  assert.equal(found.matches[2].unmatched.length, 2)
})

test('display, definition, parent and child are properties of every code system', async () => {
  assert.is(codes(await ask([property('display', { valueString: 'Colour of urine' }), exact])), 'col-u')
})

test('a property with parts is matched by none, and its parts come back', async () => {
  const part = {
    name: 'subproperty',
    part: [
      { name: 'code', valueCode: 'side' },
      { name: 'value', valueCode: 'left' },
    ],
  }
  const found = await ask([property('scale', { valueCode: 'Qn' }, part), urine, exact])
  assert.is(codes(found), 'glu-u,col-u')
  assert.equal(found.matches[0].unmatched[0][2], {
    name: 'property',
    part: [
      { name: 'code', valueCode: 'side' },
      { name: 'value', valueString: 'left' },
    ],
  })
})

test('at an instance, and by version', async () => {
  assert.is(codes(await ask([blood, exact], '/CodeSystem/tests/$find-matches')), 'glu-b')
  assert.is(codes(await ask([{ name: 'version', valueString: '4' }, blood, exact])), 'glu-b')
  assert.is((await ask([{ name: 'version', valueString: '5' }, blood, exact])).status, 404)
})

test('compositional, no property and no system are refused', async () => {
  const composed = await ask([blood, { name: 'compositional', valueBoolean: true }])
  assert.is(composed.status, 400)
  assert.match(composed.body.issue[0].diagnostics, 'compositional')
  assert.is((await ask([blood, { name: 'compositional', valueBoolean: false }, exact])).status, 200)
  assert.is((await ask([exact])).status, 400)
  const payload = JSON.stringify({ resourceType: 'Parameters', parameter: [blood] })
  const without = await server.inject({ method: 'POST', url: '/CodeSystem/$find-matches', headers, payload })
  assert.is(without.statusCode, 400)
})

test.run()
