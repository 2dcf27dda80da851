/** Values, prefixes and modifiers of each type of search parameter. https://hl7.org/fhir/R4/search.html#ptypes */
// npm test: sqlite and postgres, whose statements differ
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

let server: TestServer
const UCUM = 'http://unitsofmeasure.org'
const headers = { 'content-type': 'application/fhir+json' }
const put = async (resource: Record<string, any>): Promise<void> => {
  const url = `/${resource.resourceType}/${resource.id}`
  const answer = await server.inject({ method: 'PUT', url, headers, payload: JSON.stringify(resource) })
  assert.ok(answer.statusCode < 300, answer.body)
}
const code = { coding: [{ system: 'http://l', code: 'c' }] }
const observation = (id: string, more: object) =>
  put({ resourceType: 'Observation', id, status: 'final', code, ...more })
const quantity = (id: string, value: number, unit?: string, comparator?: string) =>
  observation(id, {
    valueQuantity: {
      value,
      ...(unit === undefined ? {} : { unit, code: unit, system: UCUM }),
      ...(comparator === undefined ? {} : { comparator }),
    },
  })
const risk = (id: string, probabilityDecimal: number) =>
  put({
    resourceType: 'RiskAssessment',
    id,
    status: 'final',
    subject: { reference: 'Patient/n1' },
    prediction: [{ probabilityDecimal }],
  })

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins],
    settings: { server: { public_url: 'http://localhost:80' }, conformance: { update_as_create: true } },
  })
  await observation('year', { effectiveDateTime: '2013' })
  await observation('month', { effectiveDateTime: '2013-01' })
  await observation('day', { effectiveDateTime: '2013-01-14' })
  await observation('minute', { effectiveDateTime: '2013-01-14T10:00:00Z' })
  await observation('zone', { effectiveDateTime: '2013-01-14T23:30:00-05:00' })
  await observation('period', { effectivePeriod: { start: '2013-01-10', end: '2013-01-20' } })
  await observation('open', { effectivePeriod: { start: '2013-06-01' } })
  await risk('r100', 100)
  await risk('r99', 99.6)
  await risk('r05', 0.05)
  await quantity('mg', 5.4, 'mg')
  await quantity('g', 0.0054, 'g')
  await quantity('other', 5.4, 'kg')
  await quantity('none', 5.4)
  await quantity('less', 10, 'mg', '<')
  await quantity('mgdl', 90, 'mg/dL')
  await put({
    resourceType: 'Patient',
    id: 'n1',
    active: true,
    gender: 'female',
    name: [{ family: 'Müller-Straße', given: ['Éva', 'Zoë'] }],
    birthDate: '1980-02-29',
    telecom: [{ system: 'phone', value: '(03) 5555', use: 'home' }],
    identifier: [
      { system: 'urn:a', value: '42', type: { coding: [{ system: 'http://t', code: 'MR' }], text: 'Record number' } },
    ],
  })
  await put({
    resourceType: 'Patient',
    id: 'n2',
    active: false,
    gender: 'male',
    name: [{ family: '100%_sure\\', text: 'Comma, Dollar$ Pipe|' }],
    identifier: [{ system: 'urn:b', value: '42' }, { value: 'bare' }],
    deceasedDateTime: '2020-01-01',
    managingOrganization: { reference: 'Organization/o1', identifier: { system: 'urn:org', value: 'x' } },
  })
  await put({
    resourceType: 'Patient',
    id: 'n3',
    name: [{ family: 'мария' }],
    deceasedBoolean: false,
    link: [{ other: { reference: 'Patient/n1/_history/1' }, type: 'seealso' }],
    generalPractitioner: [{ reference: 'http://elsewhere/fhir/Practitioner/9' }],
  })
  await put({ resourceType: 'Organization', id: 'o1', name: 'Org One' })
  for (const [id, measure] of [
    ['mr1', 'http://a.org/fhir|1'],
    ['mr12', 'http://a.org/fhir|1.2'],
    ['mr2', 'http://a.org/fhir|2'],
    ['mrroot10', 'http://a.org|10'],
    ['mrslash', 'http://a.org/'],
    ['mrroot', 'http://a.org'],
  ] as const)
    await put({
      resourceType: 'MeasureReport',
      id,
      status: 'complete',
      type: 'summary',
      measure,
      period: { start: '2020' },
    })
  for (const [id, url] of [
    ['v1', 'http://acme.org/fhir/ValueSet/123'],
    ['v2', 'http://acme.org/fhir'],
    ['v3', 'urn:oid:1.2.3'],
  ])
    await put({ resourceType: 'ValueSet', id, status: 'active', url })
  await put({
    resourceType: 'QuestionnaireResponse',
    id: 'q',
    status: 'completed',
    questionnaire: 'http://base/q|2',
  })
  const component = (name: string, value: number) => ({
    code: { coding: [{ system: 'http://l', code: name }] },
    valueQuantity: { value, code: 'mm[Hg]', system: UCUM },
  })
  await observation('bp', { component: [component('sys', 120), component('dia', 80)] })
  await observation('tablets', {
    code: { coding: [{ system: 'http://l', code: 'dose' }] },
    valueQuantity: { value: 5, unit: 'tabl', code: '{tbl}', system: UCUM },
    component: [{ code: { coding: [{ code: 'part' }] }, valueQuantity: { value: 6, unit: 'drops' } }],
  })
  await observation('concept', {
    code: { coding: [{ system: 'http://l', code: 'q1', display: 'Question one' }] },
    valueCodeableConcept: { coding: [{ system: 'http://a', code: 'yes', display: 'Yes indeed' }], text: 'Affirmed' },
    meta: {
      tag: [{ system: 'http://tag', code: 't1' }],
      profile: ['http://profile/1'],
      security: [{ code: 'R' }],
      source: 'http://src/1',
    },
  })
})
test.after(() => server.stop())

const find = async (url: string): Promise<string[]> => {
  const answer = await server.inject(`${url}&_count=1000`)
  assert.is(answer.statusCode, 200, `${url} ${answer.body.slice(0, 300)}`)
  return (answer.json().entry ?? []).map((entry: any) => entry.resource.id).sort()
}
const cases = (title: string, base: string, list: readonly (readonly [string, string])[]) =>
  test(title, async () => {
    for (const [query, expected] of list)
      assert.equal((await find(`/${base}?${query}`)).join(' '), expected.split(' ').sort().join(' '), query)
  })

const DATES = 'year month day minute zone period open'.split(' ')
const dates: readonly (readonly [string, string])[] = [
  ['2013-01-14', 'day minute'],
  ['eq2013-01-14', 'day minute'],
  ['2013-01', 'month day minute zone period'],
  ['2013', 'year month day minute zone period'],
  ['2013-01-15', 'zone'],
  ['2013-01-14T10:00:00Z', 'minute'],
  ['2013-01-14T11:00:00%2B01:00', 'minute'],
  ['2013-01-14T11:00:00+01:00', 'minute'],
  ['ne2013-01-14', 'year month zone period open'],
  ['gt2013-01-14', 'year month zone period open'],
  ['lt2013-01-14', 'year month period'],
  ['ge2013-01-14', 'year month day minute zone period open'],
  ['le2013-01-14', 'year month day minute period'],
  ['sa2013-01-14', 'zone open'],
  ['eb2013-01-14', ''],
  ['eb2013-02', 'month day minute zone period'],
  ['sa2013', ''],
  ['ap2013-01-14', 'year month day minute zone period open'],
  ['2013-01-14,2013-01-15', 'day minute zone'],
  ['gt2013-01-11&date=lt2013-01-15', 'year month period day minute'],
]
for (const [value, expected] of dates)
  test(`date=${value} compares the range of the value with that of the resource`, async () => {
    const found = await find(`/Observation?date=${value}`)
    assert.is(
      DATES.filter((one) => found.includes(one))
        .sort()
        .join(' '),
      expected.split(' ').sort().join(' '),
    )
  })

test('a fraction of a second is a range, as other dates are: .5 lasts to .599', async () => {
  const report = (id: string, fraction: string) =>
    put({
      resourceType: 'DiagnosticReport',
      id,
      status: 'final',
      code,
      effectiveDateTime: `2020-02-29T12:00:00${fraction}Z`,
    })
  await report('whole', '')
  await report('tenth', '.5')
  await report('exact', '.500')
  const foundBy = async (date: string): Promise<string> =>
    [...(await find(`/DiagnosticReport?date=${date}`))].sort().join(' ')
  const time = '2020-02-29T12:00:00'
  assert.is(await foundBy(`${time}Z`), 'exact tenth whole')
  assert.is(await foundBy(`${time}.5Z`), 'exact tenth')
  assert.is(await foundBy(`${time}.500Z`), 'exact')
  assert.is(await foundBy(`gt${time}.500Z`), 'tenth whole')
  assert.is(await foundBy(`gt${time}.5Z`), 'whole')
})

test('a dateTime with more digits than a nanosecond has is found', async () => {
  const time = '2021-05-05T00:00:00.1234567890Z'
  await put({ resourceType: 'DiagnosticReport', id: 'finest', status: 'final', code, effectiveDateTime: time })
  for (const date of ['2021-05-05', time, 'ge2021-05-05T00:00:00.123Z', 'lt2021-05-05T00:00:00.124Z&date=gt2021-05-04'])
    assert.equal([...(await find(`/DiagnosticReport?date=${date}`))], ['finest'], date)
})

cases('a number is as precise as it is written', 'RiskAssessment', [
  ['probability=100', 'r100 r99'],
  ['probability=100.0', 'r100'],
  ['probability=1e2', 'r100 r99'],
  ['probability=1.00e2', 'r100 r99'],
  ['probability=ne100', 'r05'],
  ['probability=gt99.6', 'r100'],
  ['probability=ge99.6', 'r100 r99'],
  ['probability=lt99.6', 'r05'],
  ['probability=le99.6', 'r05 r99'],
  ['probability=sa99', 'r100 r99'],
  ['probability=eb1', 'r05'],
  ['probability=ap91', 'r100 r99'],
  ['probability=0.05', 'r05'],
  ['probability=0.5', ''],
])

cases('a quantity is compared in its unit, and UCUM units are converted', 'Observation', [
  [`value-quantity=5.4|${UCUM}|mg`, 'mg g'],
  [`value-quantity=5400|${UCUM}|ug`, 'mg g'],
  [`value-quantity=0.0054|${UCUM}|g`, 'mg g'],
  ['value-quantity=5.4||mg', 'mg'],
  ['value-quantity=5.4', 'mg other none'],
  [`value-quantity=5.4|${UCUM}|`, 'mg other'],
  [`value-quantity=gt5|${UCUM}|kg`, 'other'],
  [`value-quantity=lt6|${UCUM}|mg`, 'mg g less'],
  [`value-quantity=0.90|${UCUM}|g/L`, 'mgdl'],
  [`value-quantity=ap5|${UCUM}|mg`, 'mg g less'],
  ['value-quantity=eb5', 'g'],
])

cases('a string matches its beginning without case, accents and marks', 'Patient', [
  ['family=mull', 'n1'],
  ['family=MÜLLER', 'n1'],
  [`family=${encodeURIComponent('mu\u0308ller')}`, 'n1'],
  ['family=muller-strasse', 'n1'],
  ['family=straße', ''],
  ['given=eva', 'n1'],
  ['name=zoe', 'n1'],
  ['family:contains=strasse', 'n1'],
  ['family:exact=M%C3%BCller-Stra%C3%9Fe', 'n1'],
  ['family:exact=Muller-Strasse', ''],
  ['family=%D0%9C%D0%90%D0%A0', 'n3'],
  ['family=%25', ''],
  ['family=_', ''],
  ['family=100%25', 'n2'],
  ['family=100%25_', 'n2'],
  ['family:contains=%25', 'n2'],
  [`family:contains=${encodeURIComponent('\\\\')}`, 'n2'],
  [`name=${encodeURIComponent('comma\\, dollar\\$ pipe\\|')}`, 'n2'],
  ['family=mull,100', 'n1 n2'],
  ['given=eva&given=zoe', 'n1'],
  ['given=eva&family=100', ''],
])

cases('a token is a code, with its system or without', 'Patient', [
  ['identifier=42', 'n1 n2'],
  ['identifier=urn:a|42', 'n1'],
  ['identifier=urn:a|', 'n1'],
  ['identifier=|42', ''],
  ['identifier=|bare', 'n2'],
  ['identifier=urn:c|42', ''],
  ['identifier=urn:a|42,urn:b|42', 'n1 n2'],
  ['gender=female', 'n1'],
  ['gender:not=female', 'n2 n3'],
  ['gender:not=female,male', 'n3'],
  ['gender:missing=true', 'n3'],
  ['gender:missing=false', 'n1 n2'],
  ['active=true', 'n1'],
  ['active=false', 'n2'],
  ['phone=(03) 5555', 'n1'],
  ['telecom=(03) 5555', 'n1'],
  ['identifier:of-type=http://t|MR|42', 'n1'],
  ['identifier:of-type=http://t|MR|43', ''],
  ['identifier:text=record', 'n1'],
  ['deceased=true', 'n2'],
  ['deceased=false', 'n1 n3'],
])

cases('displays, tags, profiles and ids are found', 'Observation', [
  ['code:text=question', 'concept'],
  ['code:text=one', ''],
  ['value-concept:text=affirm', 'concept'],
  ['value-concept:text=yes', 'concept'],
  ['_tag=http://tag|t1', 'concept'],
  ['_tag=t1', 'concept'],
  ['_profile=http://profile/1', 'concept'],
  ['_security=R', 'concept'],
  ['_source=http://src/1', 'concept'],
  ['_id=concept,bp', 'bp concept'],
  ['_id=nobody', ''],
])

cases('a reference is given by id, type and id, URL or version', 'Patient', [
  ['organization=o1', 'n2'],
  ['organization=Organization/o1', 'n2'],
  ['organization=http://localhost:80/Organization/o1', 'n2'],
  ['organization=Organization/o2', ''],
  ['organization:Organization=o1', 'n2'],
  ['organization:identifier=urn:org|x', 'n2'],
  ['organization:identifier=x', 'n2'],
  ['organization:missing=true', 'n1 n3'],
  ['link=Patient/n1', 'n3'],
  ['link=Patient/n1/_history/1', 'n3'],
  ['link=Patient/n1/_history/2', ''],
  ['link:RelatedPerson=n1', ''],
  ['general-practitioner=http://elsewhere/fhir/Practitioner/9', 'n3'],
  ['general-practitioner=Practitioner/9', ''],
])

cases('a canonical is found with its version and without', 'QuestionnaireResponse', [
  ['questionnaire=http://base/q', 'q'],
  ['questionnaire=http://base/q%5C%7C2', 'q'],
  ['questionnaire=http://base/q%7C2', 'q'],
  ['questionnaire=http://base/q%7C3', ''],
])

cases('a uri matches exactly, above or below', 'ValueSet', [
  ['url=http://acme.org/fhir', 'v2'],
  ['url=http://ACME.org/fhir', ''],
  ['url:below=http://acme.org/fhir', 'v1 v2'],
  ['url:above=http://acme.org/fhir/ValueSet/123/_history/5', 'v1 v2'],
  ['url=urn:oid:1.2.3', 'v3'],
  ['url=http://acme.org/fhir,urn:oid:1.2.3', 'v2 v3'],
])

cases('a canonical with a version is asked for above it by its own versions', 'MeasureReport', [
  ['measure:above=http://a.org/fhir|1.2', 'mr1 mr12'],
  ['measure:above=http://a.org/fhir|1-beta', 'mr1'],
  ['measure:above=http://a.org/fhir|9', ''],
  ['measure:above=http://a.org/fhir|2,http://a.org|10', 'mr2 mrroot10'],
  // Without a version it is about every version.
  ['measure:above=http://a.org/fhir', 'mr1 mr12 mr2 mrroot mrroot10 mrslash'],
  ['measure:below=http://a.org/fhir|1', 'mr1 mr12'],
])

cases('a composite takes its parts from one element', 'Observation', [
  ['component-code-value-quantity=http://l|sys$120', 'bp'],
  ['component-code-value-quantity=sys$120', 'bp'],
  ['component-code-value-quantity=sys$80', ''],
  ['component-code-value-quantity=dia$lt90', 'bp'],
  [`component-code-value-quantity=dia$80|${UCUM}|mm[Hg]`, 'bp'],
  [`component-code-value-quantity=dia$80|${UCUM}|mg`, ''],
  ['combo-code-value-quantity=dia$80', 'bp'],
  ['combo-code-value-quantity=c$90', 'mgdl'],
  ['code-value-concept=q1$http://a|yes', 'concept'],
  ['code-value-concept=q1$no', ''],
  ['component-code-value-quantity=sys$120,sys$80', 'bp'],
  ['component-code-value-quantity=dia$80||mm[Hg]', 'bp'],
  ['code-value-quantity=dose$5||{tbl}', 'tablets'],
  ['code-value-quantity=dose$5||tabl', 'tablets'],
  [`code-value-quantity=dose$5|${UCUM}|{tbl}`, 'tablets'],
  [`code-value-quantity=dose$5|${UCUM}|tabl`, ''],
  [`code-value-quantity=dose$5|${UCUM}|`, 'tablets'],
  ['code-value-quantity=dose$6||tabl', ''],
  ['combo-code-value-quantity=part$6||drops', 'tablets'],
  ['combo-code-value-quantity=part$6', 'tablets'],
  ['combo-code-value-quantity=part$6||tabl', ''],
])

for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty'])
  for (const url of [
    `/Patient?${name}=1`,
    `/Patient?_sort=${name}`,
    `/Patient?_include=Patient:${name}`,
    `/Patient?_has:Observation:subject:${name}=1`,
    `/Patient?_has:Observation:${name}:code=1`,
    `/Observation?subject:Patient.${name}=1`,
    `/Patient?_filter=${name}%20eq%20a`,
  ])
    test(`${url} is refused as a parameter that is not known`, async () => {
      const answer = await server.inject(url)
      assert.is(answer.statusCode, 400, answer.body)
      const { code, diagnostics } = answer.json().issue[0]
      assert.is(code, 'not-supported')
      assert.match(diagnostics, name)
      assert.match(diagnostics, /is not known for|Known are/)
      assert.not.match(diagnostics, /native code|\[object/)
    })

const BAD: readonly (readonly [string, string, RegExp])[] = [
  ['/Patient?foo=1', 'not-supported', /foo.*birthdate/],
  ['/Patient?name:in=x', 'not-supported', /:missing, :exact, :contains/],
  ['/Patient?birthdate:exact=2000', 'not-supported', /:missing/],
  ['/Patient?gender:in=http://vs', 'not-supported', /terminology/],
  ['/Patient?gender:not-in=http://vs', 'not-supported', /terminology/],
  ['/Patient?gender:below=http://s%7Cx', 'not-supported', /terminology/],
  ['/Patient?birthdate=gt', 'value', /birthdate/],
  ['/Patient?birthdate=zz2020', 'value', /eq, ne, gt/],
  ['/Patient?birthdate=2024-02-30', 'value', /date/],
  ['/Observation?value-quantity=1e999', 'value', /number/],
  ['/Observation?value-quantity=5%7Ca%7Cb%7Cc', 'value', /quantity/],
  ['/Observation?value-quantity=abc', 'value', /number/],
  ['/RiskAssessment?probability=--1', 'value', /number/],
  ['/Patient?gender:missing=maybe', 'value', /true or false/],
  ['/Patient?name=,', 'value', /no value/],
  ['/Patient?identifier=a%7Cb%7Cc', 'value', /token/],
  ['/Observation?code-value-quantity=a', 'value', /\$/],
  ['/Observation?subject:Foo=1', 'not-supported', /Foo/],
  ['/Patient?_query=x', 'not-supported', /_query/],
  ['/Patient?_list=$current-problems', 'value', /List/],
  ['/Patient?name=%00', 'value', /NUL/],
]
test('a parameter, modifier or value that is not understood is 400 and says what is known', async () => {
  for (const [url, issue, said] of BAD) {
    const answer = await server.inject(url)
    assert.is(answer.statusCode, 400, `${url} ${answer.body.slice(0, 200)}`)
    assert.is(answer.json().issue[0].code, issue, url)
    assert.match(answer.json().issue[0].diagnostics, said, url)
  }
})

test('an update moves a resource in the index, a deletion takes it out', async () => {
  const patient = (family: string) =>
    put({ resourceType: 'Patient', id: 'moving', name: [{ family }], gender: 'other' })
  await patient('Before')
  assert.equal(await find('/Patient?family=before'), ['moving'])
  await patient('After')
  assert.equal(await find('/Patient?family=before'), [])
  assert.equal(await find('/Patient?family=after&gender=other'), ['moving'])
  assert.is((await server.inject({ method: 'DELETE', url: '/Patient/moving' })).statusCode, 204)
  assert.equal(await find('/Patient?family=after'), [])
  assert.equal(await find('/Patient?gender=other'), [])
  assert.equal(await find('/Patient?_id=moving'), [])
  await patient('Again')
  assert.equal(await find('/Patient?family=again'), ['moving'])
})

test.run()
