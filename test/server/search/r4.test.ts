/** What the pages on search of R4 say of modifiers, prefixes and parameters, sentence by sentence. https://hl7.org/fhir/R4/search.html */
// npm test: sqlite and postgres, whose statements differ
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin, type Restriction } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { matching, onlyTypes } from '../../support/restrictions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

let server: TestServer
let restrictions: readonly Restriction[] = []
const gate = definePlugin({
  name: 'gate',
  setup({ hooks }) {
    hooks.authorize.tap('restrict', (_request, _interaction, ruling) => {
      for (const one of restrictions) ruling.restrict(one)
    })
  },
})
const headers = { 'content-type': 'application/fhir+json' }
const put = async (resource: Record<string, any>): Promise<void> => {
  const url = `/${resource.resourceType}/${resource.id}`
  const answer = await server.inject({ method: 'PUT', url, headers, payload: JSON.stringify(resource) })
  assert.ok(answer.statusCode < 300, answer.body)
}
const UCUM = 'http://unitsofmeasure.org'
const observation = (id: string, value: number, patient: string, more: object = {}) =>
  put({
    resourceType: 'Observation',
    id,
    status: 'final',
    code: { coding: [{ system: 'http://loinc.org', code: 'k' }] },
    valueQuantity: { value, system: UCUM, code: 'mmol/L', unit: 'mmol/L' },
    subject: { reference: `Patient/${patient}` },
    ...more,
  })

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), gate, ...fhirPlugins],
    settings: { conformance: { update_as_create: true } },
  })
  await put({ resourceType: 'Practitioner', id: 'dr', name: [{ family: 'House' }] })
  await put({ resourceType: 'Organization', id: 'clinic', name: 'Clinic', partOf: { reference: 'Organization/trust' } })
  await put({ resourceType: 'Organization', id: 'trust', name: 'Trust' })
  await put({
    resourceType: 'Patient',
    id: 'a',
    active: true,
    text: { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">Shown</div>' },
    name: [{ family: 'Eve, the $1|2\\3', given: ['Son'] }],
    gender: 'female',
    birthDate: '1980-01-01',
    multipleBirthBoolean: true,
    contact: [{ name: { family: 'Next' } }],
    generalPractitioner: [{ reference: 'Practitioner/dr' }],
    managingOrganization: { reference: 'Organization/clinic' },
    identifier: [{ system: 'urn:s', value: 'one', type: { coding: [{ system: 'http://t', code: 'MR' }] } }],
  })
  await put({ resourceType: 'Patient', id: 'b', name: [{ family: 'Evers' }], birthDate: '1990-06-01' })
  await observation('o4', 4, 'a')
  await observation('o5', 5.4, 'a', { meta: { security: [{ system: 'http://sec', code: 'R' }], tag: [{ code: 'x' }] } })
  await observation('o6', 6, 'b')
  await put({
    resourceType: 'List',
    id: 'l1',
    status: 'current',
    mode: 'working',
    entry: [{ item: { reference: 'Observation/o4' } }, { item: { reference: 'Patient/a' } }],
  })
  await put({
    resourceType: 'List',
    id: 'l2',
    status: 'current',
    mode: 'working',
    entry: [{ item: { reference: 'Observation/o6' } }],
  })
  await put({
    resourceType: 'Condition',
    id: 'c',
    subject: { reference: 'Patient/a' },
    asserter: { reference: 'Practitioner/dr' },
    code: { text: 'Shown as text', coding: [{ system: 'http://s', code: 'z', display: 'Display of z' }] },
  })
})
test.after(() => server.stop())

const get = async (url: string, more: object = {}) => {
  const answer = await server.inject({ method: 'GET', url, ...more })
  return { status: answer.statusCode, body: answer.json(), text: answer.body }
}
const find = async (url: string, mode = 'match'): Promise<string> => {
  const { status, body, text } = await get(url)
  assert.is(status, 200, `${url} ${text.slice(0, 300)}`)
  return (body.entry ?? [])
    .filter((entry: any) => entry.search.mode === mode)
    .map((entry: any) => entry.resource.id)
    .sort()
    .join(' ')
}
const finds = (title: string, list: readonly (readonly [string, string])[]) =>
  test(title, async () => {
    for (const [url, expected] of list) assert.is(await find(url), expected, url)
  })

finds('each prefix compares a quantity as R4 says', [
  [`/Observation?value-quantity=5.4|${UCUM}|mmol/L`, 'o5'],
  [`/Observation?value-quantity=eq5.4|${UCUM}|mmol/L`, 'o5'],
  [`/Observation?value-quantity=5.40|${UCUM}|mmol/L`, 'o5'],
  [`/Observation?value-quantity=5|${UCUM}|mmol/L`, 'o5'],
  [`/Observation?value-quantity=ne5.4|${UCUM}|mmol/L`, 'o4 o6'],
  [`/Observation?value-quantity=gt5.4|${UCUM}|mmol/L`, 'o6'],
  [`/Observation?value-quantity=lt5.4|${UCUM}|mmol/L`, 'o4'],
  [`/Observation?value-quantity=ge5.4|${UCUM}|mmol/L`, 'o5 o6'],
  [`/Observation?value-quantity=le5.4|${UCUM}|mmol/L`, 'o4 o5'],
  [`/Observation?value-quantity=sa5.4|${UCUM}|mmol/L`, 'o6'],
  [`/Observation?value-quantity=eb5.4|${UCUM}|mmol/L`, 'o4'],
  [`/Observation?value-quantity=ap5.5|${UCUM}|mmol/L`, 'o5 o6'],
  ['/Observation?value-quantity=gt5||mmol/L', 'o5 o6'],
])

test('each prefix compares _lastUpdated', async () => {
  const { lastUpdated } = (await get('/Observation/o4')).body.meta
  const later = new Date(Date.parse(lastUpdated) + 3_600_000).toISOString()
  const of = (prefix: string, moment: string) => find(`/Observation?_id=o4&_lastUpdated=${prefix}${moment}`)
  for (const prefix of ['', 'eq', 'ge', 'le', 'ap']) assert.is(await of(prefix, lastUpdated), 'o4', prefix)
  for (const prefix of ['ne', 'gt', 'lt', 'sa', 'eb']) assert.is(await of(prefix, lastUpdated), '', prefix)
  for (const prefix of ['lt', 'le', 'eb', 'ne']) assert.is(await of(prefix, later), 'o4', prefix)
  assert.is(await of('', lastUpdated.slice(0, 10)), 'o4')
  assert.is(await of('gt', `${lastUpdated},lt${later}`), 'o4', 'either')
})

finds('modifiers of every type of parameter', [
  ['/Patient?name:missing=false', 'a b'],
  ['/Patient?birthdate:missing=true', ''],
  ['/Patient?general-practitioner:missing=true', 'b'],
  ['/Observation?value-quantity:missing=false', 'o4 o5 o6'],
  ['/Observation?code-value-quantity:missing=false', 'o4 o5 o6'],
  ['/Patient?given:exact=Son', 'a'],
  ['/Patient?given:exact=son', ''],
  ['/Patient?given:exact=So', ''],
  ['/Patient?family:contains=ver', 'b'],
  ['/Condition?code:text=display', 'c'],
  ['/Condition?code:text=shown as', 'c'],
  ['/Condition?code:code-text=shown', 'c'],
  ['/Condition?code:not=http://s|z', ''],
  ['/Condition?code:not=http://s|y', 'c'],
  ['/Patient?gender:not=male', 'a b'],
  ['/Patient?identifier:of-type=http://t|MR|one', 'a'],
  ['/Observation?subject:Patient=a', 'o4 o5'],
  ['/Observation?subject:Group=a', ''],
  ['/Observation?subject:Patient.name=eve', 'o4 o5 o6'],
  ['/Observation?_security=http://sec|R', 'o5'],
  ['/Observation?_security:not=http://sec|R', 'o4 o6'],
  ['/Observation?_tag:missing=true', 'o4 o6'],
])

finds('repeated parameters are all met, values between commas any', [
  ['/Observation?value-quantity=gt4&value-quantity=lt6', 'o5'],
  ['/Observation?value-quantity=lt5,gt5.5', 'o4 o6'],
  ['/Observation?subject=Patient/a,Patient/b&value-quantity=gt5', 'o5 o6'],
  ['/Patient?birthdate=1980,1990', 'a b'],
  ['/Patient?birthdate=ge1985&birthdate=lt1995', 'b'],
])

finds('commas, dollars, bars and backslashes are escaped by a backslash', [
  [`/Patient?family=${encodeURIComponent('Eve\\, the \\$1\\|2\\\\3')}`, 'a'],
  [`/Patient?family:exact=${encodeURIComponent('Eve\\, the \\$1\\|2\\\\3')}`, 'a'],
  [`/Patient?family=${encodeURIComponent('Eve\\, nobody')}`, ''],
  [`/Patient?family=${encodeURIComponent('nobody,Eve\\,')}`, 'a'],
])

finds('chains and `_has` lead over several links, to types that are named or not', [
  ['/Observation?patient.general-practitioner.name=house', 'o4 o5'],
  ['/Observation?patient.general-practitioner:Practitioner.name=house', 'o4 o5'],
  ['/Observation?subject:Patient.organization.partof.name=trust', 'o4 o5'],
  ['/Patient?_has:Observation:patient:value-quantity=gt5.5', 'b'],
  ['/Patient?_has:Observation:subject:code=k&_has:Condition:subject:code=z', 'a'],
  ['/Practitioner?_has:Patient:general-practitioner:_has:Observation:patient:value-quantity=4', 'dr'],
  ['/Organization?_has:Patient:organization:general-practitioner:Practitioner.name=house', 'clinic'],
  ['/Practitioner?_has:Condition:asserter:subject:Patient.gender=female', 'dr'],
])

finds('a List chooses what it names', [
  ['/Observation?_list=l1', 'o4'],
  ['/Patient?_list=l1', 'a'],
  ['/Observation?_list=l1,l2', 'o4 o6'],
  ['/Observation?_list=nobody', ''],
])

test('a List that may not be seen chooses nothing, and where no List may be seen none is asked about', async () => {
  try {
    restrictions = [matching('List', '_id=l2')]
    assert.is(await find('/Observation?_list=l1'), '')
    restrictions = [onlyTypes('Observation')]
    assert.is((await get('/Observation?_list=l1')).status, 403)
  } finally {
    restrictions = []
  }
})

test('compartments by type, by every type, with parameters', async () => {
  assert.is(await find('/Patient/a/Observation'), 'o4 o5')
  assert.is(await find('/Patient/a/Observation?value-quantity=gt5'), 'o5')
  assert.is(await find('/Patient/a/*'), 'a c o4 o5')
  assert.is(await find('/Patient/a/*?_type=Observation,Condition'), 'c o4 o5')
  assert.is(await find('/Practitioner/dr/Condition'), 'c')
  assert.is((await get('/Organization/clinic/Patient')).status, 404)
})

test('the five summaries hold what they are to', async () => {
  const keys = async (summary: string) =>
    Object.keys((await get(`/Patient?_id=a&_summary=${summary}`)).body.entry[0].resource)
      .sort()
      .join(' ')
  assert.is(await keys('text'), 'id meta resourceType text')
  assert.not.match(await keys('data'), 'text')
  assert.match(await keys('data'), 'contact')
  assert.match(await keys('true'), 'identifier')
  assert.not.match(await keys('true'), 'contact')
  assert.not.match(await keys('true'), 'text')
  assert.match(await keys('false'), 'contact')
  assert.match(await keys('false'), 'text')
  const { body } = await get('/Patient?_summary=count')
  assert.is(body.total, 2)
  assert.is(body.entry, undefined)
  const included = (await get('/Observation?_id=o4&_include=Observation:subject&_elements=status')).body.entry
  assert.is(included.length, 2)
})

test('_elements of several types name the type', async () => {
  const { body } = await get(
    '/Observation?_id=o4&_include=Observation:subject&_elements=Observation.status,Patient.gender',
  )
  const [match, other] = body.entry.map((entry: any) => Object.keys(entry.resource).sort().join(' '))
  assert.is(match, 'code id meta resourceType status')
  assert.match(other, 'gender')
})

test('_include and _revinclude by type, by target, iterated, for all', async () => {
  const included = (query: string) => find(query, 'include')
  assert.is(await included('/Patient?_id=a&_include=Patient:general-practitioner'), 'dr')
  assert.is(await included('/Patient?_id=a&_include=Patient:general-practitioner:Organization'), '')
  assert.is(await included('/Patient?_id=a&_include=Patient:*'), 'clinic dr')
  assert.is(await included('/Patient?_id=a&_include=Patient:organization'), 'clinic')
  assert.is(
    await included('/Patient?_id=a&_include=Patient:organization&_include:iterate=Organization:partof'),
    'clinic trust',
  )
  assert.is(await included('/Patient?_id=a&_include=Patient:organization&_include=Organization:partof'), 'clinic')
  assert.is(
    await included('/Patient?_id=a&_include=Patient:organization&_include:recurse=Organization:partof'),
    'clinic trust',
  )
  assert.is(
    await included('/Practitioner?_revinclude=Patient:general-practitioner&_revinclude:iterate=Observation:patient'),
    'a o4 o5',
  )
  assert.is(await included('/Patient?_id=b&_revinclude=Observation:subject'), 'o6')
  assert.is(await included('/Patient?_id=b&_revinclude=*'), 'o6')
})

test('handling=strict refuses what is not understood, as does no header; lenient passes it over', async () => {
  for (const prefer of [undefined, 'handling=strict', 'return=representation'])
    assert.is((await get('/Patient?foo=1', { headers: prefer === undefined ? {} : { prefer } })).status, 400, prefer)
  for (const prefer of ['handling=lenient', 'respond-async, handling=lenient', 'HANDLING="lenient"']) {
    const { status, body } = await get('/Patient?foo=1&_id=a', { headers: { prefer } })
    assert.is(status, 200, prefer)
    assert.is(body.entry[0].resource.id, 'a')
    assert.match(body.entry[1].resource.issue[0].diagnostics, '"foo" was ignored')
  }
})

test('GET and POST give the same, for a type and for all', async () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const post = async (url: string, payload: string) => {
    const answer = await server.inject({ method: 'POST', url, headers: form, payload })
    assert.is(answer.statusCode, 200, answer.body)
    return answer
      .json()
      .entry.map((entry: any) => entry.resource.id)
      .sort()
      .join(' ')
  }
  for (const query of [
    'value-quantity=gt5',
    'subject:Patient.name=evers',
    '_has:List:item:_id=l1',
    'code=k&_sort=-_id',
  ])
    assert.is(await post('/Observation/_search', query), await find(`/Observation?${query}`), query)
  assert.is(await post('/_search', '_type=Patient,List&_id=a,l1'), 'a l1')
})

test.run()
