/**
 * Each parameter of each terminology operation, by its clause in the definition of the operation: what the answer is with it. A
 * parameter that the server takes and that is not in the table fails the test. https://hl7.org/fhir/R4/terminology-service.html
 */
// database: sqlite, because parameters are read in the process; terminology/operations.test.ts is on each kind
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import terminology from '../../../plugins/terminology/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

type Json = Record<string, any>
type Inputs = Readonly<Record<string, unknown>>

const CS = 'http://t.example/cs'
const VS = 'http://t.example/vs/'
const GERMAN = 'urn:ietf:bcp:47|de'
let server: TestServer

const system = (version: string, more: readonly Json[] = []): Json => ({
  ...{ resourceType: 'CodeSystem', id: `cs${version}`, url: CS, version, name: 'Codes', status: 'active' },
  ...{ content: 'complete', language: 'en', hierarchyMeaning: 'is-a', date: '2020-01-01' },
  property: [
    { code: 'inactive', type: 'boolean' },
    { code: 'notSelectable', type: 'boolean' },
    { code: 'color', type: 'string' },
  ],
  concept: [
    {
      ...{ code: 'a', display: 'Alpha', definition: 'The first.' },
      designation: [
        { language: 'de', use: { system: 'http://uses.example', code: 'name' }, value: 'Anfang' },
        { language: 'fr', value: 'Un' },
      ],
      property: [{ code: 'color', valueString: 'red' }],
      concept: [
        { code: 'b', display: `Beta ${version}` },
        { code: 'c', display: 'Gamma', property: [{ code: 'inactive', valueBoolean: true }] },
      ],
    },
    { code: 'd', display: 'Delta', property: [{ code: 'notSelectable', valueBoolean: true }] },
    ...more,
  ],
})
const valueSet = (id: string, compose: Json, more: Json = {}): Json => ({
  ...{ resourceType: 'ValueSet', id, url: VS + id, status: 'active', date: '2020-01-01', compose },
  ...more,
})
const map = (version: string, target: string): Json => ({
  ...{ resourceType: 'ConceptMap', id: `map${version}`, url: 'http://t.example/map', version, status: 'active' },
  ...{ sourceUri: `${VS}all`, targetUri: 'http://t.example/targets' },
  group: [
    {
      ...{ source: CS, sourceVersion: '2', target: 'http://t.example/other' },
      element: [
        { code: 'a', target: [{ code: target, equivalence: 'wider' }] },
        {
          code: 'b',
          target: [
            { code: 'x', equivalence: 'equal', dependsOn: [{ property: 'http://t.example/side', value: 'left' }] },
          ],
        },
      ],
    },
  ],
})
const STORED: readonly Json[] = [
  system('1'),
  system('2', [{ code: 'e', display: 'Epsilon' }]),
  valueSet('all', { include: [{ system: CS }] }),
  valueSet('pinned', { include: [{ system: CS, version: '2' }] }),
  { ...valueSet('versions', { include: [{ system: CS, concept: [{ code: 'a' }] }] }), id: 'versions1', version: '1' },
  { ...valueSet('versions', { include: [{ system: CS, concept: [{ code: 'b' }] }] }), id: 'versions2', version: '2' },
  map('1', 'p'),
  map('2', 'q'),
]
const put = async (resource: Json): Promise<void> => {
  const url = `/${resource.resourceType}/${resource.id}`
  const headers = { 'content-type': 'application/fhir+json' }
  const answer = await server.inject({ method: 'PUT', url, headers, payload: JSON.stringify(resource) })
  assert.ok(answer.statusCode < 300, answer.body)
}

/** The types of parameters; those that are not named are strings or, by their value, booleans and numbers. */
const TYPES: Readonly<Record<string, string>> = {
  ...{ url: 'Uri', system: 'Uri', context: 'Uri', source: 'Uri', target: 'Uri', targetsystem: 'Uri', element: 'Uri' },
  ...{
    contextDirection: 'Code',
    code: 'Code',
    codeA: 'Code',
    codeB: 'Code',
    displayLanguage: 'Code',
    date: 'DateTime',
  },
  ...{ coding: 'Coding', codingA: 'Coding', codingB: 'Coding', codeableConcept: 'CodeableConcept' },
  ...{ 'exclude-system': 'Canonical', 'system-version': 'Canonical', 'check-system-version': 'Canonical' },
  'force-system-version': 'Canonical',
}
const toParameter = (name: string, value: any): Json => {
  if (Array.isArray(value)) return { name, part: value.map(([inner, one]) => toParameter(inner, one)) }
  if (value?.resourceType !== undefined) return { name, resource: value }
  const type = TYPES[name]
  if (type !== undefined) return { name, [`value${type}`]: value }
  if (typeof value === 'boolean') return { name, valueBoolean: value }
  if (typeof value === 'number') return { name, valueInteger: value }
  if (name === 'concept' && value.text !== undefined) return { name, valueCodeableConcept: value }
  return { name, [name === 'property' ? 'valueCode' : name === 'concept' ? 'valueCoding' : 'valueString']: value }
}
const ask = async (address: string, inputs: Inputs): Promise<{ readonly status: number; readonly json: Json }> => {
  const parameter = Object.entries(inputs).map(([name, value]) => toParameter(name, value))
  const headers = { 'content-type': 'application/fhir+json' }
  const payload = JSON.stringify({ resourceType: 'Parameters', parameter })
  const answer = await server.inject({ method: 'POST', url: address, headers, payload })
  return { status: answer.statusCode, json: answer.json() as Json }
}

const codesOf = (contains: readonly Json[] = []): string =>
  contains.map((one) => `${one.code}${one.contains === undefined ? '' : `(${codesOf(one.contains)})`}`).join(' ')
const valueOfPart = (parameter: Json): unknown =>
  Object.entries(parameter).find(([name]) => name.startsWith('value'))?.[1]
/** The codes of an expansion, or the values of parameters; of an error its status. */
const summary = ({ status, json }: Awaited<ReturnType<typeof ask>>, wanted: readonly string[]): string => {
  if (status !== 200) return String(status)
  if (json.expansion !== undefined) return codesOf(json.expansion.contains)
  if (json.resourceType === 'ConceptMap')
    return (json.group ?? [])
      .flatMap(({ element }: Json) => element.map(({ code, target }: Json) => `${code}<${target[0].code}`))
      .join(' ')
  const show = (one: Json): readonly string[] =>
    one.part === undefined
      ? [String((valueOfPart(one) as Json)?.code ?? valueOfPart(one))]
      : [one.part.flatMap(show).join('/')]
  return ((json.parameter ?? []) as readonly Json[])
    .filter(({ name }) => wanted.includes(name))
    .flatMap(show)
    .join(' ')
}

interface Row {
  /** Besides the parameter itself. */
  readonly with?: Inputs
  readonly value: unknown
  readonly gives: string
  /** What the same request without the parameter gives, where that is to be different. */
  readonly else?: string
}
interface Operation {
  readonly address: string
  readonly wanted: readonly string[]
  readonly base: Inputs
  readonly rows: Readonly<Record<string, Row>>
}

const OF_BODY = valueSet('body', { include: [{ system: CS, concept: [{ code: 'd' }] }] })
const BESIDE = { ...system('9'), url: 'http://t.example/beside', id: undefined }
const besideSet = { system: 'http://t.example/beside' }
const inSet = (set: string): Inputs => ({ url: VS + set })
const code = (value: string): Inputs => ({ system: CS, code: value })
const GENDER = 'http://hl7.org/fhir/StructureDefinition/Patient#Patient.gender'
const CONCEPT = {
  coding: [
    { system: CS, code: 'zzz' },
    { system: CS, code: 'a' },
  ],
}

const EXPAND: Operation = {
  address: '/ValueSet/$expand',
  wanted: [],
  base: inSet('all'),
  rows: {
    url: { with: { url: undefined }, value: `${VS}all`, gives: 'a b c d e', else: '400' },
    valueSetVersion: { with: inSet('versions'), value: '1', gives: 'a', else: 'b' },
    valueSet: { with: { url: undefined }, value: OF_BODY, gives: 'd' },
    context: { with: { url: undefined }, value: GENDER, gives: 'male female other unknown' },
    contextDirection: {
      with: { url: undefined, context: GENDER },
      value: 'incoming',
      gives: 'male female other unknown',
    },
    date: { value: '1990-01-01', gives: '400', else: 'a b c d e' },
    filter: { value: 'bet', gives: 'b' },
    offset: { with: { count: 2 }, value: 2, gives: 'c d', else: 'a b' },
    count: { value: 1, gives: 'a' },
    activeOnly: { value: true, gives: 'a b d e', else: 'a b c d e' },
    includeDesignations: { with: { filter: 'alpha' }, value: true, gives: 'a' },
    designation: { with: { filter: 'alpha' }, value: GERMAN, gives: 'a' },
    includeDefinition: { with: { filter: 'alpha' }, value: true, gives: 'a' },
    excludeNested: { value: false, gives: 'a(b c) d e', else: 'a b c d e' },
    excludeNotForUI: { value: true, gives: 'a b c e', else: 'a b c d e' },
    excludePostCoordinated: { value: true, gives: 'a b c d e' },
    'exclude-system': { value: CS, gives: '', else: 'a b c d e' },
    'system-version': { value: `${CS}|1`, gives: 'a b c d', else: 'a b c d e' },
    'check-system-version': { with: inSet('pinned'), value: `${CS}|1`, gives: '400', else: 'a b c d e' },
    'force-system-version': { with: inSet('pinned'), value: `${CS}|1`, gives: 'a b c d', else: 'a b c d e' },
    displayLanguage: { with: { filter: 'anf' }, value: 'de', gives: 'a', else: '' },
    'tx-resource': {
      with: { url: undefined, valueSet: valueSet('x', { include: [besideSet] }) },
      ...{ value: BESIDE, gives: 'a b c d', else: '400' },
    },
  },
}
const RESULT = ['result', 'display']
const VALIDATE_IN_SET: Operation = {
  address: '/ValueSet/$validate-code',
  wanted: RESULT,
  base: { ...inSet('all'), ...code('a') },
  rows: {
    url: { with: { url: undefined }, value: `${VS}all`, gives: 'true Alpha', else: '400' },
    valueSetVersion: { with: inSet('versions'), value: '1', gives: 'true Alpha', else: 'false Alpha' },
    valueSet: { with: { url: undefined, code: 'd' }, value: OF_BODY, gives: 'true Delta', else: '400' },
    context: {
      with: { url: undefined, system: 'http://hl7.org/fhir/administrative-gender', code: 'male' },
      ...{ value: GENDER, gives: 'true Male', else: '400' },
    },
    date: { value: '1990-01-01', gives: '400', else: 'true Alpha' },
    code: { with: { code: undefined }, value: 'a', gives: 'true Alpha', else: '400' },
    system: { with: { system: undefined }, value: CS, gives: 'true Alpha', else: '400' },
    systemVersion: { with: { code: 'b' }, value: '1', gives: 'true Beta 1', else: 'true Beta 2' },
    display: { value: 'Omega', gives: 'false Alpha', else: 'true Alpha' },
    coding: { with: { code: undefined, system: undefined }, value: { system: CS, code: 'a' }, gives: 'true Alpha' },
    codeableConcept: { with: { code: undefined, system: undefined }, value: CONCEPT, gives: 'true Alpha', else: '400' },
    abstract: { with: { code: 'd' }, value: false, gives: 'false Delta', else: 'true Delta' },
    displayLanguage: { value: 'de', gives: 'true Anfang', else: 'true Alpha' },
    'tx-resource': {
      with: { url: undefined, valueSet: valueSet('x', { include: [besideSet] }), ...besideSet },
      ...{ value: BESIDE, gives: 'true Alpha', else: '400' },
    },
  },
}
const VALIDATE_IN_SYSTEM: Operation = {
  address: '/CodeSystem/$validate-code',
  wanted: RESULT,
  base: { url: CS, code: 'a' },
  rows: {
    url: { with: { url: undefined }, value: CS, gives: 'true Alpha', else: '400' },
    codeSystem: { with: { url: undefined }, value: { ...BESIDE }, gives: 'true Alpha', else: '400' },
    code: { with: { code: undefined }, value: 'e', gives: 'true Epsilon', else: '400' },
    version: { with: { code: 'b' }, value: '1', gives: 'true Beta 1', else: 'true Beta 2' },
    display: { value: 'Omega', gives: 'false Alpha' },
    coding: { with: { code: undefined }, value: { system: CS, code: 'b' }, gives: 'true Beta 2', else: '400' },
    codeableConcept: { with: { code: undefined }, value: CONCEPT, gives: 'true Alpha', else: '400' },
    date: { value: '1990-01-01', gives: '400' },
    abstract: { with: { code: 'd' }, value: false, gives: 'false Delta', else: 'true Delta' },
    displayLanguage: { value: 'de', gives: 'true Anfang' },
    'tx-resource': { with: { url: besideSet.system }, value: BESIDE, gives: 'true Alpha', else: '404' },
  },
}
const LOOKUP: Operation = {
  address: '/CodeSystem/$lookup',
  wanted: ['display', 'property'],
  base: code('b'),
  rows: {
    code: { with: { code: undefined }, value: 'e', gives: 'Epsilon', else: '400' },
    system: { with: { system: undefined }, value: CS, gives: 'Beta 2 parent/a', else: '400' },
    version: { value: '1', gives: 'Beta 1 parent/a', else: 'Beta 2 parent/a' },
    coding: { with: { code: undefined, system: undefined }, value: { system: CS, code: 'e' }, gives: 'Epsilon' },
    date: { value: '1990-01-01', gives: '400' },
    displayLanguage: {
      with: { code: 'a', property: 'color' },
      value: 'de',
      gives: 'color/red'.replace(/^/, 'Anfang '),
    },
    property: { with: { code: 'a' }, value: 'child', gives: 'Alpha child/b child/c' },
    'tx-resource': { with: { ...besideSet, code: 'c', property: 'x' }, value: BESIDE, gives: 'Gamma', else: '404' },
  },
}
const SUBSUMES: Operation = {
  address: '/CodeSystem/$subsumes',
  wanted: ['outcome'],
  base: { system: CS, codeA: 'a', codeB: 'b' },
  rows: {
    codeA: { with: { codeA: undefined }, value: 'b', gives: 'equivalent', else: '400' },
    codeB: { with: { codeB: undefined }, value: 'd', gives: 'not-subsumed', else: '400' },
    system: { with: { system: undefined }, value: CS, gives: 'subsumes', else: '400' },
    version: { with: { codeB: 'e' }, value: '1', gives: '404', else: 'not-subsumed' },
    codingA: { with: { codeA: undefined }, value: { system: CS, code: 'c' }, gives: 'not-subsumed', else: '400' },
    codingB: { with: { codeB: undefined }, value: { system: CS, code: 'c' }, gives: 'subsumes', else: '400' },
    'tx-resource': { with: besideSet, value: BESIDE, gives: 'subsumes', else: '404' },
  },
}
const RED = [
  ['code', 'color'],
  ['value', 'red'],
] as const
const MATCHES: Operation = {
  address: '/CodeSystem/$find-matches',
  wanted: ['match'],
  base: { system: CS, property: RED, exact: true },
  rows: {
    system: { with: { system: undefined }, value: CS, gives: 'a', else: '400' },
    version: {
      with: {
        property: [
          ['code', 'display'],
          ['value', 'Epsilon'],
        ],
      },
      value: '1',
      gives: '',
      else: 'e',
    },
    property: { with: { property: undefined }, value: RED, gives: 'a', else: '400' },
    exact: {
      with: {
        property: [
          ['code', 'display'],
          ['value', 'alph'],
        ],
        exact: undefined,
      },
      ...{ value: true, gives: '' },
    },
    compositional: { value: true, gives: '400', else: 'a' },
    'tx-resource': { with: besideSet, value: BESIDE, gives: 'a', else: '404' },
  },
}
const TRANSLATE: Operation = {
  address: '/ConceptMap/$translate',
  wanted: ['result', 'match'],
  base: { url: 'http://t.example/map', ...code('a') },
  rows: {
    url: { with: { url: undefined }, value: 'http://t.example/map', gives: 'true wider/q/http://t.example/map|2' },
    conceptMap: {
      with: { url: undefined },
      ...{ value: { ...map('7', 'r'), url: 'http://t.example/own' }, gives: 'true wider/r/http://t.example/own|7' },
    },
    conceptMapVersion: {
      ...{ value: '1', gives: 'true wider/p/http://t.example/map|1', else: 'true wider/q/http://t.example/map|2' },
    },
    code: { with: { code: undefined }, value: 'a', gives: 'true wider/q/http://t.example/map|2', else: '400' },
    system: { with: { system: undefined }, value: CS, gives: 'true wider/q/http://t.example/map|2', else: '400' },
    version: { value: '1', gives: 'false', else: 'true wider/q/http://t.example/map|2' },
    source: { value: 'http://t.example/none', gives: '400' },
    target: { value: 'http://t.example/none', gives: '400' },
    coding: {
      with: { code: undefined, system: undefined },
      ...{ value: { system: CS, code: 'a' }, gives: 'true wider/q/http://t.example/map|2', else: '400' },
    },
    codeableConcept: {
      with: { code: undefined, system: undefined },
      ...{ value: CONCEPT, gives: 'true wider/q/http://t.example/map|2', else: '400' },
    },
    targetsystem: { value: 'http://t.example/none', gives: 'false' },
    dependency: {
      with: { code: 'b' },
      value: [
        ['element', 'http://t.example/side'],
        ['concept', { text: 'left' }],
      ],
      ...{ gives: 'true equal/x/http://t.example/map|2', else: 'false' },
    },
    reverse: {
      with: { system: 'http://t.example/other', code: 'q' },
      ...{ value: true, gives: 'true narrower/a/http://t.example/map|2', else: 'false' },
    },
    'tx-resource': {
      with: { url: 'http://t.example/beside-map' },
      ...{ value: { ...map('7', 'r'), url: 'http://t.example/beside-map' }, else: '404' },
      gives: 'true wider/r/http://t.example/beside-map|7',
    },
  },
}
const CLOSURE: Operation = {
  address: '/$closure',
  wanted: [],
  base: { name: 'mine' },
  rows: {
    name: { with: { name: undefined }, value: 'other', gives: '', else: '400' },
    concept: { value: { system: CS, code: 'b' }, gives: '' },
    version: { value: '0', gives: '' },
  },
}
const OPERATIONS = [...[EXPAND, VALIDATE_IN_SET, VALIDATE_IN_SYSTEM, LOOKUP, SUBSUMES, MATCHES, TRANSLATE, CLOSURE]]

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins, terminology],
    settings: { conformance: { update_as_create: true } },
  })
  for (const one of STORED) await put(one)
})
test.after(() => server.stop())

for (const { address, wanted, base, rows } of OPERATIONS) {
  test(`${address}: the table has all parameters that the operation takes`, async () => {
    const { status, json } = await ask(address, { 'no-such-parameter': 'x' })
    assert.is(status, 400)
    const [, known = ''] = /known are: (.*?)\.$/.exec(json.issue[0].diagnostics) ?? []
    assert.equal(known.split(', ').sort(), Object.keys(rows).sort())
  })
  if (address === CLOSURE.address)
    test.before(async () => {
      assert.is((await ask(address, base)).status, 200)
    })
  for (const [name, row] of Object.entries(rows))
    test(`${address}: ${name}`, async () => {
      const others = Object.fromEntries(
        Object.entries({ ...base, ...row.with }).filter(([one, value]) => value !== undefined && one !== name),
      )
      assert.is(summary(await ask(address, { ...others, [name]: row.value }), wanted), row.gives)
      if (row.else !== undefined) assert.is(summary(await ask(address, others), wanted), row.else, 'without it')
    })
}

test('$expand: designations, the definition and displays are there when they are asked for', async () => {
  const first = async (inputs: Inputs): Promise<Json> => {
    const { json } = await ask('/ValueSet/$expand', { ...inSet('all'), count: 1, ...inputs })
    return { ...json.expansion.contains[0], compose: json.compose }
  }
  const languages = ({ designation = [] }: Json): string => designation.map(({ language }: Json) => language).join(' ')
  assert.is(languages(await first({})), '')
  assert.is(languages(await first({ includeDesignations: true })), 'de fr')
  assert.is(languages(await first({ designation: GERMAN })), 'de')
  assert.is(languages(await first({ designation: 'http://uses.example|name' })), 'de')
  assert.is((await first({})).compose, undefined)
  assert.equal((await first({ includeDefinition: true })).compose, { include: [{ system: CS }] })
  assert.is((await first({ displayLanguage: 'fr' })).display, 'Un')
})

test('$closure: concepts make entries, and a version gives those after it', async () => {
  const concept = (one: string): Json => ({ name: 'concept', valueCoding: { system: CS, code: one } })
  const send = async (...parameter: readonly Json[]): Promise<Json> => {
    const payload = JSON.stringify({
      resourceType: 'Parameters',
      parameter: [{ name: 'name', valueString: 'two' }, ...parameter],
    })
    const headers = { 'content-type': 'application/fhir+json' }
    return (await server.inject({ method: 'POST', url: '/$closure', headers, payload })).json()
  }
  await send()
  const { version } = await send(concept('a'), concept('b'))
  assert.is(summary({ status: 200, json: await send(concept('c')) }, []), 'c<a')
  assert.is(summary({ status: 200, json: await send({ name: 'version', valueString: version }) }, []), 'c<a')
  assert.is(summary({ status: 200, json: await send({ name: 'version', valueString: '0' }) }, []), 'b<a c<a')
})

test.run()
