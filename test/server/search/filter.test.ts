/** `_filter`. https://hl7.org/fhir/R4/search_filter.html */
// npm test: sqlite and postgres, whose statements differ
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

let server: TestServer
const headers = { 'content-type': 'application/fhir+json' }
const put = async (resource: Record<string, any>): Promise<void> => {
  const url = `/${resource.resourceType}/${resource.id}`
  const answer = await server.inject({ method: 'PUT', url, headers, payload: JSON.stringify(resource) })
  assert.ok(answer.statusCode < 300, answer.body)
}
const LOINC = 'http://loinc.org'

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins],
    settings: { server: { public_url: 'http://localhost:80' }, conformance: { update_as_create: true } },
  })
  await put({ resourceType: 'Organization', id: 'org', name: 'Clinic, North' })
  const patient = (id: string, family: string, given: string[], birthDate: string, gender?: string) =>
    put({
      resourceType: 'Patient',
      id,
      name: [{ family, given }],
      birthDate,
      ...(gender === undefined ? {} : { gender }),
      ...(id === 'peter' ? { managingOrganization: { reference: 'Organization/org' } } : {}),
    })
  await patient('peter', 'Petrov', ['Peter', 'James'], '2015-03-04', 'male')
  await patient('anna', 'Élan', ['Anna'], '1990-01-01', 'female')
  await patient('max', 'Mustermann', ['Max'], '1970-06-15')
  const observation = (
    id: string,
    code: string,
    value: number,
    subject: string,
    effective: object,
    more: object = {},
  ) =>
    put({
      resourceType: 'Observation',
      id,
      status: 'final',
      code: { coding: [{ system: LOINC, code }] },
      valueQuantity: { value, system: 'http://unitsofmeasure.org', code: 'mg' },
      subject: { reference: subject },
      ...effective,
      ...more,
    })
  await observation('o1', '1234-5', 5, 'Patient/peter', { effectiveDateTime: '2020-05-05' })
  await observation('o2', '1234-5', 50, 'Patient/anna', { effectivePeriod: { start: '2020-01-01', end: '2020-12-31' } })
  await observation('o3', '9999-9', 500, 'Patient/anna', { effectiveDateTime: '2021-05-05' })
  await put({ resourceType: 'ValueSet', id: 'v', status: 'active', url: 'http://acme.org/fhir/ValueSet/v' })
})
test.after(() => server.stop())

const ask = (type: string, filter: string) => server.inject(`/${type}?_filter=${encodeURIComponent(filter)}`)
const find = async (type: string, filter: string): Promise<string> => {
  const answer = await ask(type, filter)
  assert.is(answer.statusCode, 200, `${filter}: ${answer.body.slice(0, 300)}`)
  return (answer.json().entry ?? [])
    .map((entry: any) => entry.resource.id)
    .sort()
    .join(' ')
}

const CASES: readonly (readonly [string, string, string])[] = [
  // The examples of the specification.
  ['Patient', 'name co "pet"', 'peter'],
  ['Patient', 'given eq "peter" and birthdate ge 2014-10-10', 'peter'],
  ['Observation', `code eq ${LOINC}|1234-5`, 'o1 o2'],
  ['Observation', 'subject.name co "pet"', 'o1'],
  // Strings: without case and accents, whole or in part, in order.
  ['Patient', 'family eq ELAN', 'anna'],
  ['Patient', 'family eq ela', ''],
  ['Patient', 'family ne "élan"', 'max peter'],
  ['Patient', 'given ne peter', 'anna max peter'],
  ['Patient', 'family sw pet', 'peter'],
  ['Patient', 'family ew mann', 'max'],
  ['Patient', 'family ew ov', 'peter'],
  ['Patient', 'family co ster', 'max'],
  ['Patient', 'family gt mustermann', 'peter'],
  ['Patient', 'family ge mustermann', 'max peter'],
  ['Patient', 'family lt mustermann', 'anna'],
  ['Patient', 'family le mustermann', 'anna max'],
  ['Organization', 'name eq "clinic, north"', 'org'],
  ['Organization', 'name co ", n"', 'org'],
  // Tokens.
  ['Patient', 'gender eq male', 'peter'],
  ['Patient', 'gender eq http://hl7.org/fhir/administrative-gender|female', 'anna'],
  ['Patient', 'gender ne male', 'anna'],
  ['Patient', 'gender pr true', 'anna peter'],
  ['Patient', 'gender pr false', 'max'],
  ['Patient', '_id eq max', 'max'],
  ['Patient', '_id ne max', 'anna peter'],
  ['Patient', '_lastUpdated gt 2020', 'anna max peter'],
  ['Patient', '_lastUpdated lt 2020', ''],
  // Numbers, quantities, dates.
  ['Observation', 'value-quantity gt 5', 'o2 o3'],
  ['Observation', 'value-quantity le 50', 'o1 o2'],
  ['Observation', 'value-quantity eq 5|http://unitsofmeasure.org|mg', 'o1'],
  ['Observation', 'value-quantity ne 5', 'o2 o3'],
  ['Observation', 'value-quantity ap 52', 'o2'],
  ['Observation', 'date eq 2020', 'o1 o2'],
  ['Observation', 'date sa 2020', 'o3'],
  ['Observation', 'date eb 2021', 'o1 o2'],
  ['Observation', 'date po 2020-05', 'o1 o2'],
  ['Observation', 'date po 2020-07-01', 'o2'],
  ['Observation', 'date po 2019', ''],
  // References, URIs, composites.
  ['Observation', 'subject eq Patient/peter', 'o1'],
  ['Observation', 'subject re Patient/anna', 'o2 o3'],
  ['Observation', 'subject re http://localhost:80/Patient/anna', 'o2 o3'],
  ['Observation', 'subject ne Patient/anna', 'o1'],
  ['ValueSet', 'url eq http://acme.org/fhir/ValueSet/v', 'v'],
  ['ValueSet', 'url sw http://acme.org', 'v'],
  ['ValueSet', 'url ew ValueSet/v', 'v'],
  ['ValueSet', 'url ew valueset/v', ''],
  ['ValueSet', 'url co fhir', 'v'],
  ['Observation', `code-value-quantity eq ${LOINC}|1234-5$ge50`, 'o2'],
  // Logic: from left to right, unless parentheses say otherwise.
  ['Patient', 'gender eq male or gender eq female', 'anna peter'],
  ['Patient', 'not(gender eq male)', 'anna max'],
  ['Patient', 'not (gender pr true)', 'max'],
  ['Patient', 'gender eq male or family eq elan and birthdate lt 2000', 'anna'],
  ['Patient', 'gender eq male or (family eq elan and birthdate lt 2000)', 'anna peter'],
  ['Patient', '(gender eq male and family sw p) or (gender pr false and given eq max)', 'max peter'],
  ['Patient', 'not(gender eq male or gender eq female) and birthdate lt 1980', 'max'],
  ['Patient', 'not(not(gender eq male))', 'peter'],
  ['Patient', '  ( gender   eq male )  ', 'peter'],
  // Chains, with brackets in them.
  ['Observation', 'patient.organization.name sw clinic', 'o1'],
  ['Observation', 'subject[gender eq female].birthdate lt 2000', 'o2 o3'],
  ['Observation', 'subject[gender eq male].birthdate lt 2000', ''],
  ['Observation', 'subject[gender eq male and birthdate gt 2000].organization[name co north].name pr true', 'o1'],
  ['Observation', 'subject.name co pet or value-quantity ge 500', 'o1 o3'],
  ['Observation', 'not(subject.name co pet) and value-quantity lt 500', 'o2'],
]
for (const [type, filter, expected] of CASES)
  test(`${type}: ${filter}`, async () => {
    assert.is(await find(type, filter), expected)
  })

test('filters go together with other parameters, with each other, in chains and `_has`', async () => {
  const ids = async (url: string) => ((await server.inject(url)).json().entry ?? []).map((one: any) => one.resource.id)
  assert.equal(await ids('/Patient?_filter=birthdate lt 2000&gender=female'), ['anna'])
  assert.equal(await ids('/Patient?_filter=birthdate lt 2000&_filter=gender pr false'), ['max'])
  assert.equal(await ids('/Observation?subject:Patient._filter=gender eq male'), ['o1'])
  assert.equal(await ids('/Patient?_has:Observation:subject:_filter=value-quantity gt 400'), ['anna'])
  assert.equal(await ids('/Patient?_filter=gender pr true&_sort=gender&_count=1'), ['anna'])
})

test('what cannot be read is 400 and says at which character', async () => {
  for (const [filter, place, said] of [
    ['name', 5, /one of eq, ne/],
    ['name eq', 8, /value/],
    ['name is x', 6, /one of eq, ne/],
    ['name eq "x', 9, /quotes/],
    ['name eq "\\x"', 9, /JSON/],
    ['(name eq x', 11, /"\)" is expected/],
    ['name eq x)', 10, /and/],
    ['name eq x xor name eq y', 11, /"xor name/],
    ['not name eq x', 5, /"\(" is expected/],
    ['name eq x and', 14, /name of a search parameter/],
    ['subject[name eq x', 18, /"\]" is expected/],
    ['subject[name eq x]', 19, /"\."/],
    ['1 eq 2', 1, /name of a search parameter/],
    [' ', 2, /name of a search parameter/],
  ] as const) {
    const answer = await ask('Patient', filter)
    assert.is(answer.statusCode, 400, filter)
    const { code, diagnostics } = answer.json().issue[0]
    assert.is(code, 'value', filter)
    assert.match(diagnostics, `at character ${place}:`, `${filter}: ${diagnostics}`)
    assert.match(diagnostics, said, filter)
  }
})

test('a parameter, operator or value that is not for it is 400', async () => {
  for (const [type, filter, said] of [
    ['Patient', 'foo eq 1', /foo/],
    ['Patient', 'gender co x', /"co" is not for a parameter of type token.*eq, ne, in, ni, ss, sb, pr/],
    ['Patient', 'birthdate sw 2000', /type date/],
    ['Patient', 'birthdate eq soon', /date/],
    ['Patient', 'birthdate eq ge2000', /date/],
    ['Patient', 'gender pr maybe', /true or false/],
    ['Patient', 'name po 2020', /type string/],
    ['Patient', '_id co x', /eq, ne/],
    ['Patient', 'gender.name eq x', /no reference/],
    ['Patient', 'gender in http://vs', /terminology/],
    ['Observation', 'subject.foo eq x', /foo/],
  ] as const) {
    const answer = await ask(type, filter)
    assert.is(answer.statusCode, 400, `${filter} ${answer.body}`)
    assert.match(answer.json().issue[0].diagnostics, said, filter)
  }
  assert.is((await server.inject('/Patient?_filter:not=name eq x')).statusCode, 400)
})

test('a filter that is too large or too deep is refused as such', async () => {
  for (const filter of [
    Array(100).fill('name eq x').join(' or '),
    `${'('.repeat(30)}name eq x${')'.repeat(30)}`,
    `${'not('.repeat(30)}name eq x${')'.repeat(30)}`,
    `${'link['.repeat(30)}name eq x${'].name eq x'.repeat(30)}`,
    `name eq "${'x'.repeat(9_000)}"`,
    `${'link.'.repeat(20)}name eq x`,
  ]) {
    const answer = await server.inject({
      method: 'POST',
      url: '/Patient/_search',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: `_filter=${encodeURIComponent(filter)}`,
    })
    assert.is(answer.statusCode, 400, filter.slice(0, 40))
    assert.is(answer.json().issue[0].code, 'too-costly', filter.slice(0, 40))
  }
})

test.run()
