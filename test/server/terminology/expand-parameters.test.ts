/**
 * The parameters of R4's $expand beyond url, filter and pages, and what an expansion does with contained value sets,
 * supplements and fragments. https://hl7.org/fhir/R4/valueset-operation-expand.html
 */
// database: sqlite, because value sets are expanded in the process; terminology/operations.test.ts is on each kind
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
const put = async (resource: Json): Promise<void> => {
  const url = `/${resource.resourceType}/${resource.id}`
  const answer = await server.inject({ method: 'PUT', url, headers, payload: JSON.stringify(resource) })
  assert.ok(answer.statusCode < 300, answer.body)
}

const COLORS = 'http://colors.example'
const SHAPES = 'http://shapes.example'
const CITIES = 'http://cities.example'
const SETS = 'http://sets.example/'
const PROFILE = 'http://profiles.example/colored'
const BCP47 = 'urn:ietf:bcp:47'
const UNCLOSED = 'http://hl7.org/fhir/StructureDefinition/valueset-unclosed'
const SUPPLEMENT = 'http://hl7.org/fhir/StructureDefinition/valueset-supplement'

const codeSystem = (id: string, url: string, version: string, more: Json): Json => ({
  resourceType: 'CodeSystem',
  ...{ id, url, version, date: '2020-03-01', status: 'active', content: 'complete', name: 'Codes' },
  ...more,
})
const valueSet = (id: string, compose: Json, more: Json = {}): Json => ({
  resourceType: 'ValueSet',
  ...{ id, url: SETS + id, date: '2021-05', name: 'Set', status: 'draft', compose },
  ...more,
})
const WARM = {
  code: 'warm',
  display: 'Warm',
  property: [{ code: 'group', valueBoolean: true }],
  concept: [
    {
      code: 'red',
      display: 'Red',
      designation: [
        { language: 'de', value: 'Rot' },
        { language: 'fr', value: 'Rouge' },
        { use: { system: 'http://uses.example', code: 'short' }, value: 'R' },
      ],
      concept: [{ code: 'crimson', display: 'Crimson' }],
    },
  ],
}

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins, terminology],
    settings: { conformance: { update_as_create: true } },
  })
  const property = [{ code: 'group', uri: 'http://hl7.org/fhir/concept-properties#notSelectable', type: 'boolean' }]
  await put(codeSystem('colors-1', COLORS, '1', { property, concept: [WARM, { code: 'gray', display: 'Gray' }] }))
  await put(codeSystem('colors-2', COLORS, '2', { property, concept: [WARM, { code: 'blue', display: 'Blue' }] }))
  await put(codeSystem('shapes', SHAPES, '1', { concept: [{ code: 'round', display: 'Round' }] }))
  await put(
    codeSystem('cities', CITIES, '1', { content: 'fragment', concept: [{ code: 'vienna', display: 'Vienna' }] }),
  )
  await put(
    codeSystem('colors-es', 'http://colors.example/es', '1', {
      content: 'supplement',
      supplements: COLORS,
      concept: [{ code: 'red', designation: [{ language: 'es', value: 'Rojo' }] }],
    }),
  )
  await put(valueSet('colors', { include: [{ system: COLORS }] }))
  await put(valueSet('first-colors', { include: [{ system: COLORS, version: '1' }] }))
  await put(valueSet('both', { include: [{ system: COLORS }, { system: SHAPES }] }))
  await put(valueSet('cities', { include: [{ system: CITIES }] }))
  await put(valueSet('not-cities', { include: [{ system: COLORS }], exclude: [{ system: CITIES }] }))
  await put(
    valueSet(
      'importing',
      { include: [{ valueSet: ['#own'] }] },
      {
        contained: [
          { resourceType: 'ValueSet', id: 'own', status: 'active', compose: { include: [{ system: SHAPES }] } },
        ],
      },
    ),
  )
  await put(
    valueSet(
      'spanish',
      { include: [{ system: COLORS }] },
      { extension: [{ url: SUPPLEMENT, valueCanonical: 'http://colors.example/es' }] },
    ),
  )
  await put(
    valueSet(
      'klingon',
      { include: [{ system: COLORS }] },
      { extension: [{ url: SUPPLEMENT, valueCanonical: 'http://colors.example/tlh' }] },
    ),
  )
  await put({
    resourceType: 'StructureDefinition',
    ...{
      id: 'colored',
      url: PROFILE,
      name: 'Colored',
      status: 'active',
      kind: 'resource',
      abstract: false,
      type: 'Basic',
    },
    baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Basic',
    derivation: 'constraint',
    snapshot: {
      element: [
        { id: 'Basic', path: 'Basic' },
        { id: 'Basic.code', path: 'Basic.code', binding: { strength: 'required', valueSet: `${SETS}colors` } },
        { id: 'Basic.subject', path: 'Basic.subject' },
      ],
    },
  })
})
test.after(() => server.stop())

const asked = async (url: string): Promise<{ readonly status: number; readonly body: Json }> => {
  const answer = await server.inject(url)
  return { status: answer.statusCode, body: answer.json() }
}
const expand = (set: string, query = '') => asked(`/ValueSet/$expand?url=${SETS}${set}${query}`)
const flat = (contains: readonly Json[] = []): readonly string[] =>
  contains.flatMap((one) => [one.code as string, ...flat(one.contains)])
const codes = ({ status, body }: { readonly status: number; readonly body: Json }): string => {
  assert.is(status, 200, JSON.stringify(body))
  return flat(body.expansion.contains).join(' ')
}
const refusal = ({ status, body }: { readonly status: number; readonly body: Json }): string =>
  `${status} ${body.issue?.[0].diagnostics}`
const result = async (url: string): Promise<string> => {
  const { status, body } = await asked(url)
  assert.is(status, 200, JSON.stringify(body))
  const of = (name: string): Json | undefined => body.parameter.find((one: Json) => one.name === name)
  return `${of('result')?.valueBoolean} ${of('message')?.valueString ?? ''}`.trim()
}

test('system-version chooses the version where the value set names none, force-system-version in any case', async () => {
  const first = `=${encodeURIComponent(`${COLORS}|1`)}`
  const second = `=${encodeURIComponent(`${COLORS}|2`)}`
  assert.is(codes(await expand('colors')), 'warm red crimson blue')
  assert.is(codes(await expand('colors', `&system-version${first}`)), 'warm red crimson gray')
  assert.is(codes(await expand('first-colors', `&system-version${second}`)), 'warm red crimson gray')
  assert.is(codes(await expand('first-colors', `&force-system-version${second}`)), 'warm red crimson blue')
  assert.is(codes(await expand('colors', `&check-system-version${first}`)), 'warm red crimson gray')
  assert.is(codes(await expand('first-colors', `&check-system-version${first}`)), 'warm red crimson gray')
  assert.match(
    refusal(await expand('first-colors', `&check-system-version${second}`)),
    /^400 .*names version 1 of http:\/\/colors\.example.*version 2/,
  )
  assert.match(refusal(await expand('colors', '&system-version=http://colors.example')), /^400 .*system-version/)
  assert.match(refusal(await expand('colors', `&system-version${first}&system-version${second}`)), /^400 .*\|2.*\|1/)
  const parameters = (await expand('colors', `&system-version${first}`)).body.expansion.parameter
  assert.ok(parameters.some((one: Json) => one.name === 'system-version' && one.valueCanonical === `${COLORS}|1`))
})

test('exclude-system leaves out a code system, or one version of it', async () => {
  assert.is(codes(await expand('both', `&exclude-system=${COLORS}`)), 'round')
  assert.is(codes(await expand('both', `&exclude-system=${encodeURIComponent(`${COLORS}|2`)}`)), 'round')
  assert.is(
    codes(await expand('both', `&exclude-system=${encodeURIComponent(`${COLORS}|1`)}`)),
    'warm red crimson blue round',
  )
})

test('excludeNested=false nests codes as their code system does, and a page is flat', async () => {
  const { body } = await expand('colors', '&excludeNested=false')
  assert.equal(
    body.expansion.contains.map((one: Json) => [one.code, flat(one.contains)]),
    [
      ['warm', ['red', 'crimson']],
      ['blue', []],
    ],
  )
  assert.is(body.expansion.total, 4)
  for (const query of ['', '&excludeNested=true', '&excludeNested=false&count=10'])
    assert.ok((await expand('colors', query)).body.expansion.contains.every((one: Json) => one.contains === undefined))
})

test('excludeNotForUI leaves out abstract codes, and excludePostCoordinated has nothing to leave out', async () => {
  assert.is(codes(await expand('colors', '&excludeNotForUI=true')), 'red crimson blue')
  assert.is(codes(await expand('colors', '&excludePostCoordinated=true')), 'warm red crimson blue')
})

test('includeDefinition gives the definition of the value set, which is left out otherwise', async () => {
  assert.equal((await expand('colors', '&includeDefinition=true')).body.compose, { include: [{ system: COLORS }] })
  const { body } = await expand('colors')
  assert.is(body.compose, undefined)
  assert.equal([body.url, body.name, body.status, body.date], [`${SETS}colors`, 'Set', 'draft', '2021-05'])
})

test('designation chooses designations by language or use', async () => {
  const shown = async (query: string) =>
    (await expand('colors', query)).body.expansion.contains
      .find((one: Json) => one.code === 'red')
      .designation?.map(({ value }: Json) => value)
  const of = (token: string): string => `&designation=${encodeURIComponent(token)}`
  assert.equal(await shown(of(`${BCP47}|de`)), ['Rot'])
  assert.equal(await shown(of('http://uses.example|short') + of(`${BCP47}|fr`)), ['Rouge', 'R'])
  assert.equal(await shown('&includeDesignations=true'), ['Rot', 'Rouge', 'R'])
  assert.is(await shown(`&includeDesignations=false${of(`${BCP47}|de`)}`), undefined)
  assert.match(refusal(await expand('colors', '&designation=de')), /^400 .*designation.*urn:ietf:bcp:47\|de/)
})

test('context names an element, and the value set is the one that it is bound to', async () => {
  const at = (context: string, more = '') => asked(`/ValueSet/$expand?context=${encodeURIComponent(context)}${more}`)
  assert.is(codes(await at(`${PROFILE}#Basic.code`)), 'warm red crimson blue')
  assert.is(codes(await at(`${PROFILE}#Basic.code`, '&contextDirection=outgoing')), 'warm red crimson blue')
  assert.match(refusal(await at(`${PROFILE}#Basic.code`, '&contextDirection=up')), /^400 .*contextDirection/)
  assert.match(refusal(await at(`${PROFILE}#Basic.subject`)), /^404 .*no value set/)
  assert.match(refusal(await at('http://profiles.example/none#Basic.code')), /^404 /)
  assert.match(refusal(await at('Basic.code')), /^400 .*#/)
  assert.match(refusal(await at(`${PROFILE}#Basic.code`, `&url=${SETS}both`)), /^400 .*contradicts/)
  assert.is(
    await result(
      `/ValueSet/$validate-code?context=${encodeURIComponent(`${PROFILE}#Basic.code`)}&system=${COLORS}&code=red`,
    ),
    'true',
  )
})

test('a date uses definitions that have not changed since, and is refused where one has', async () => {
  for (const date of ['2021-05-31', '2022', '2999-01-01'])
    assert.is(codes(await expand('colors', `&date=${date}`)), 'warm red crimson blue')
  assert.match(refusal(await expand('colors', '&date=2021-04-30')), /^400 .*sets\.example\/colors.*2021-05/)
  assert.match(refusal(await expand('colors', '&date=2019')), /^400 .*2021-05/)
  const check = (date: string) => asked(`/CodeSystem/$validate-code?url=${COLORS}&code=red&date=${date}`)
  assert.is((await check('2020-03-01')).status, 200)
  assert.match(refusal(await check('2020-02')), /^400 .*2020-03-01/)
  const look = (date: string) => asked(`/CodeSystem/$lookup?system=${COLORS}&code=red&date=${date}`)
  assert.is((await look('2020-03-01')).status, 200)
  assert.match(refusal(await look('2020-02')), /^400 .*2020-03-01/)
  assert.match(
    refusal(await asked(`/ValueSet/$validate-code?url=${SETS}colors&system=${COLORS}&code=red&date=2021-04`)),
    /^400 /,
  )
  assert.match(refusal(await asked('/ValueSet/colors/$expand?date=2021-04')), /^400 /)
})

test('a value set that is contained is imported by its id', async () => {
  assert.is(codes(await expand('importing')), 'round')
  assert.is(codes(await asked('/ValueSet/importing/$expand')), 'round')
})

test('a supplement that a value set needs gives designations, and one that is not here is named', async () => {
  const { body } = await expand('spanish', '&displayLanguage=es')
  assert.is(body.expansion.contains.find((one: Json) => one.code === 'red').display, 'Rojo')
  const valid = `/ValueSet/$validate-code?system=${COLORS}&code=red&display=Rojo&url=${SETS}`
  assert.is(await result(`${valid}spanish`), 'true')
  assert.match(await result(`${valid}colors`), /^false .*"Red"/)
  assert.match(refusal(await expand('klingon')), /^400 .*supplement http:\/\/colors\.example\/tlh/)
})

test('of a fragment an expansion says that it is not closed, and a code that is not in it may be valid', async () => {
  const found = await expand('cities')
  assert.is(codes(found), 'vienna')
  assert.equal(found.body.expansion.extension, [{ url: UNCLOSED, valueBoolean: true }])
  assert.is((await expand('colors')).body.expansion.extension, undefined)
  assert.match(refusal(await expand('not-cities')), /^400 .*fragment/)
  const inSet = (code: string) => result(`/ValueSet/$validate-code?url=${SETS}cities&system=${CITIES}&code=${code}`)
  const inSystem = (code: string) => result(`/CodeSystem/$validate-code?url=${CITIES}&code=${code}`)
  for (const check of [inSet, inSystem]) {
    assert.is(await check('vienna'), 'true')
    assert.match(await check('graz'), /^true .*fragment/)
  }
  assert.is((await asked(`/CodeSystem/$lookup?system=${CITIES}&code=vienna`)).status, 200)
  assert.match(refusal(await asked(`/CodeSystem/$lookup?system=${CITIES}&code=graz`)), /^404 .*fragment/)
  // A search would miss resources with codes of other fragments.
  assert.is((await server.inject(`/Observation?code:in=${SETS}cities`)).statusCode, 400)
})

test('$validate-code takes a code system in the request', async () => {
  const payload = (code: string) =>
    JSON.stringify({
      resourceType: 'Parameters',
      parameter: [
        { name: 'codeSystem', resource: codeSystem('sent', 'http://sent.example', '1', { concept: [{ code: 'a' }] }) },
        { name: 'code', valueCode: code },
      ],
    })
  const check = async (code: string) => {
    const answer = await server.inject({
      method: 'POST',
      url: '/CodeSystem/$validate-code',
      headers,
      payload: payload(code),
    })
    return (answer.json() as Json).parameter[0].valueBoolean
  }
  assert.equal([await check('a'), await check('b')], [true, false])
})

test('inactive = false leaves out inactive codes that another value set brings', async () => {
  const property = [{ code: 'off', uri: 'http://hl7.org/fhir/concept-properties#inactive', type: 'boolean' }]
  const url = 'http://lamps.example'
  const concept = [{ code: 'on' }, { code: 'off', property: [{ code: 'off', valueBoolean: true }] }]
  await put(codeSystem('lamps', url, '1', { property, concept }))
  await put(valueSet('all-lamps', { include: [{ system: url }] }))
  await put(valueSet('active-lamps', { inactive: false, include: [{ valueSet: [`${SETS}all-lamps`] }] }))
  await put(
    valueSet('lamps-but', {
      inactive: false,
      include: [{ system: url }],
      exclude: [{ valueSet: [`${SETS}all-lamps`] }],
    }),
  )
  const ask = async (path: string): Promise<Json> => (await server.inject(path)).json() as Json
  const codes = async (id: string) =>
    ((await ask(`/ValueSet/${id}/$expand`)).expansion.contains ?? []).map(({ code }: Json) => code)
  assert.equal(await codes('all-lamps'), ['on', 'off'])
  assert.equal(await codes('active-lamps'), ['on'])
  assert.equal(await codes('lamps-but'), [])
  const { parameter } = await ask(`/ValueSet/active-lamps/$validate-code?system=${url}&code=off`)
  assert.is(parameter.find(({ name }: Json) => name === 'result').valueBoolean, false)
})

test.run()
