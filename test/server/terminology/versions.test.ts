/** Versions, case, states and languages of codes in the terminology operations. https://hl7.org/fhir/R4/terminology-service.html */
// database: sqlite, because versions and languages are compared in the process; terminology/operations.test.ts is on each kind
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
const SETS = 'http://sets.example/'

const codeSystem = (id: string, url: string, version: string | undefined, more: Json): Json => ({
  resourceType: 'CodeSystem',
  ...{ id, url, status: 'active', content: 'complete', name: 'Codes' },
  ...(version === undefined ? {} : { version }),
  ...more,
})
const valueSet = (id: string, compose: Json, more: Json = {}): Json => ({
  resourceType: 'ValueSet',
  ...{ id, url: SETS + id, status: 'active', compose },
  ...more,
})
const GERMAN = { language: 'de', value: 'Rot' }
const AUSTRIAN = { language: 'de-AT', use: { system: 'http://x', code: 'dialect' }, value: 'Rott' }
const FRENCH = { language: 'fr', value: 'Rouge' }

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins, terminology],
    settings: { conformance: { update_as_create: true } },
  })
  const red = { code: 'red', display: 'Red', designation: [GERMAN, AUSTRIAN, FRENCH] }
  await put(codeSystem('colors-1', COLORS, '1', { concept: [red, { code: 'gray', display: 'Gray' }] }))
  await put(codeSystem('colors-2', COLORS, '2', { concept: [red, { code: 'blue', display: 'Blue' }] }))
  await put(
    codeSystem('shapes', SHAPES, undefined, {
      language: 'en',
      caseSensitive: false,
      property: [
        { code: 'gone', uri: 'http://hl7.org/fhir/concept-properties#inactive', type: 'boolean' },
        { code: 'status', uri: 'http://hl7.org/fhir/concept-properties#status', type: 'code' },
        { code: 'group', uri: 'http://hl7.org/fhir/concept-properties#notSelectable', type: 'boolean' },
        { code: 'corners', type: 'integer' },
        { code: 'ratio', type: 'decimal' },
        { code: 'since', type: 'dateTime' },
        { code: 'kind', type: 'Coding' },
        { code: 'like', type: 'code' },
        { code: 'note', type: 'string' },
      ],
      concept: [
        {
          code: 'Polygon',
          display: 'Polygon',
          property: [{ code: 'group', valueBoolean: true }],
          concept: [
            {
              code: 'Square',
              display: 'Square',
              designation: [{ language: 'de', value: 'Quadrat' }],
              property: [
                { code: 'corners', valueInteger: 4 },
                { code: 'ratio', valueDecimal: 1.5 },
                { code: 'since', valueDateTime: '2020-01-01' },
                { code: 'kind', valueCoding: { system: 'http://x', code: 'k' } },
                // As a string, though it is declared as a code.
                { code: 'like', valueString: 'Rhombus' },
                { code: 'note', valueString: 'even' },
                { code: 'group', valueBoolean: false },
              ],
            },
            { code: 'Kite', display: 'Kite', property: [{ code: 'gone', valueBoolean: true }] },
            { code: 'Lozenge', display: 'Lozenge', property: [{ code: 'status', valueCode: 'retired' }] },
          ],
        },
      ],
    }),
  )
  await put(valueSet('any-colors', { include: [{ system: COLORS }] }))
  await put(valueSet('old-colors', { include: [{ system: COLORS, version: '1' }] }))
  await put(valueSet('piped-colors', { include: [{ system: `${COLORS}|1` }] }))
  await put(valueSet('no-colors', { include: [{ system: COLORS, version: '9' }] }))
  await put(
    valueSet('both-colors', {
      include: [
        { system: COLORS, version: '1' },
        { system: COLORS, version: '2' },
      ],
    }),
  )
  await put(
    valueSet('less-colors', {
      include: [
        { system: COLORS, version: '1' },
        { system: COLORS, version: '2' },
      ],
      exclude: [{ system: COLORS, version: '1', concept: [{ code: 'red' }] }],
    }),
  )
  await put(
    valueSet('not-red', {
      include: [{ valueSet: [`${SETS}both-colors`] }],
      exclude: [{ system: COLORS, concept: [{ code: 'red' }] }],
    }),
  )
  await put(
    valueSet('listed', {
      include: [
        {
          system: COLORS,
          concept: [
            { code: 'red' },
            { code: 'blue', display: 'Azure', designation: [{ language: 'it', value: 'Azzurro' }] },
            { code: 'green' },
          ],
        },
        { system: 'http://nowhere.example', concept: [{ code: 'x' }, { code: 'y', display: 'Y' }] },
      ],
    }),
  )
  await put(valueSet('shapes', { include: [{ system: SHAPES }] }))
  await put(
    valueSet('listed-shapes', { include: [{ system: SHAPES, concept: [{ code: 'SQUARE' }, { code: 'kite' }] }] }),
  )
  await put(
    valueSet('active-shapes', {
      inactive: false,
      include: [{ system: SHAPES, concept: [{ code: 'Square' }, { code: 'Kite' }] }],
    }),
  )
  await put(
    valueSet('below-polygon', {
      include: [{ system: SHAPES, filter: [{ property: 'concept', op: 'descendent-of', value: 'POLYGON' }] }],
    }),
  )
})
test.after(() => server.stop())

const get = async (url: string) => {
  const answer = await server.inject(url)
  return { status: answer.statusCode, body: answer.json() }
}
const post = async (url: string, parameter: readonly object[]) => {
  const payload = JSON.stringify({ resourceType: 'Parameters', parameter })
  const answer = await server.inject({ method: 'POST', url, headers, payload })
  return { status: answer.statusCode, body: answer.json() }
}
const contains = async (id: string, query = ''): Promise<readonly Json[]> => {
  const { status, body } = await get(`/ValueSet/$expand?url=${SETS}${id}${query}`)
  assert.is(status, 200, JSON.stringify(body))
  return body.expansion.contains ?? []
}
const codes = (list: readonly Json[]): string =>
  list.map(({ code, version }) => (version === undefined ? code : `${code}|${version}`)).join(' ')
const valueIn = ({ body }: { readonly body: Json }, name: string): any => {
  const found = body.parameter?.find((one: Json) => one.name === name) ?? {}
  return Object.entries(found).find(([member]) => member.startsWith('value'))?.[1]
}
const inSet = (id: string, coding: Json) =>
  post('/ValueSet/$validate-code', [
    { name: 'url', valueUri: SETS + id },
    { name: 'coding', valueCoding: coding },
  ])
const isIn = async (id: string, coding: Json): Promise<boolean> => valueIn(await inSet(id, coding), 'result')

test('$expand takes the version of a code system that the value set names', async () => {
  assert.is(codes(await contains('any-colors')), 'red blue')
  assert.is(codes(await contains('old-colors')), 'red|1 gray|1')
  assert.is(codes(await contains('piped-colors')), 'red|1 gray|1')
  assert.is((await contains('piped-colors'))[0]?.system, COLORS)
  const missing = await get(`/ValueSet/$expand?url=${SETS}no-colors`)
  assert.is(missing.status, 400)
  assert.match(missing.body.issue[0].diagnostics, /the code system http:\/\/colors\.example\|9 is not here/)
})

test('$expand keeps versions apart, and says which were used', async () => {
  assert.is(codes(await contains('both-colors')), 'red|1 red|2 gray|1 blue|2')
  assert.is(codes(await contains('less-colors')), 'red|2 gray|1 blue|2')
  assert.is(codes(await contains('not-red')), 'gray|1 blue|2')
  const used = async (id: string) =>
    (await get(`/ValueSet/$expand?url=${SETS}${id}`)).body.expansion.parameter
      .filter(({ name }: Json) => name === 'version')
      .map(({ valueUri }: Json) => valueUri)
  assert.equal(await used('any-colors'), [`${COLORS}|2`])
  assert.equal(await used('both-colors'), [`${COLORS}|1`, `${COLORS}|2`])
})

test('$validate-code holds the version of a coding against that of the value set', async () => {
  assert.is(await isIn('old-colors', { system: COLORS, code: 'red' }), true)
  assert.is(await isIn('old-colors', { system: COLORS, version: '1', code: 'red' }), true)
  const other = await inSet('old-colors', { system: COLORS, version: '2', code: 'red' })
  assert.is(valueIn(other, 'result'), false)
  assert.match(valueIn(other, 'message'), /red of version 2 is not in .*old-colors, which has it of version 1/)
  assert.is(await isIn('both-colors', { system: COLORS, version: '2', code: 'red' }), true)
  assert.is(await isIn('less-colors', { system: COLORS, version: '1', code: 'red' }), false)
  // Where the value set names no version, that of the coding counts, if it is here.
  assert.is(await isIn('any-colors', { system: COLORS, code: 'gray' }), false)
  assert.is(await isIn('any-colors', { system: COLORS, version: '1', code: 'gray' }), true)
  assert.is(await isIn('any-colors', { system: COLORS, version: '1', code: 'blue' }), false)
  assert.is(await isIn('any-colors', { system: COLORS, version: '9', code: 'red' }), false)
  const asked = (version: string) =>
    get(`/ValueSet/old-colors/$validate-code?system=${COLORS}&code=red&systemVersion=${version}`)
  assert.equal([valueIn(await asked('1'), 'result'), valueIn(await asked('2'), 'result')], [true, false])
})

test('$validate-code of a code system holds the version of a coding against that of the system', async () => {
  const ask = (coding: Json, more: Json = {}) =>
    post('/CodeSystem/$validate-code', [
      { name: 'coding', valueCoding: { system: COLORS, ...coding } },
      ...Object.entries(more).map(([name, value]) => ({ name, [name === 'url' ? 'valueUri' : 'valueString']: value })),
    ])
  assert.is(valueIn(await ask({ code: 'gray' }), 'result'), false)
  assert.is(valueIn(await ask({ version: '1', code: 'gray' }), 'result'), true)
  assert.is(valueIn(await ask({ version: '2', code: 'gray' }), 'result'), false)
  const missing = await ask({ version: '9', code: 'red' })
  assert.is(valueIn(missing, 'result'), false)
  assert.match(valueIn(missing, 'message'), /red is of version 9 of its code system, and the one asked is 2/)
  assert.is(valueIn(await ask({ code: 'gray' }, { url: COLORS, version: '1' }), 'result'), true)
  assert.is(valueIn(await ask({ code: 'gray' }, { url: `${COLORS}|1` }), 'result'), true)
  assert.is(valueIn(await ask({ version: '2', code: 'red' }, { url: COLORS, version: '1' }), 'result'), false)
  assert.is(valueIn(await get('/CodeSystem/colors-1/$validate-code?code=gray'), 'result'), true)
  assert.is((await ask({ code: 'red' }, { url: COLORS, version: '9' })).status, 404)
})

test('$lookup and $subsumes go by the version of a coding', async () => {
  const coding = { system: COLORS, version: '1', code: 'gray' }
  const found = await post('/CodeSystem/$lookup', [{ name: 'coding', valueCoding: coding }])
  assert.equal([valueIn(found, 'display'), valueIn(found, 'version')], ['Gray', '1'])
  const compared = (a: string, b: string) =>
    post('/CodeSystem/$subsumes', [
      { name: 'codingA', valueCoding: { ...coding, version: a } },
      { name: 'codingB', valueCoding: { ...coding, version: b } },
    ])
  assert.is(valueIn(await compared('1', '1'), 'outcome'), 'equivalent')
  const apart = await compared('1', '2')
  assert.is(apart.status, 400)
  assert.match(apart.body.issue[0].diagnostics, /both codes in one version/)
})

test('a code without a system is in no value set', async () => {
  const alone = await get(`/ValueSet/$validate-code?url=${SETS}any-colors&code=red`)
  assert.is(alone.status, 400)
  assert.match(alone.body.issue[0].diagnostics, /the system of the code/)
  const coding = await inSet('any-colors', { code: 'red' })
  assert.is(valueIn(coding, 'result'), false)
  assert.match(valueIn(coding, 'message'), /The code red has no system.*give its system/)
  const ofSystem = await post('/CodeSystem/$validate-code', [
    { name: 'url', valueUri: COLORS },
    { name: 'coding', valueCoding: { code: 'red' } },
  ])
  assert.is(valueIn(ofSystem, 'result'), false)
  assert.match(valueIn(ofSystem, 'message'), /has no system/)
  const concept = { coding: [{ code: 'red' }, { system: COLORS, code: 'blue' }] }
  const other = await post('/ValueSet/any-colors/$validate-code', [
    { name: 'codeableConcept', valueCodeableConcept: concept },
  ])
  assert.is(valueIn(other, 'result'), true)
})

test('the case of a code does not matter where its system says so', async () => {
  for (const id of ['shapes', 'listed-shapes', 'below-polygon'])
    assert.is(await isIn(id, { system: SHAPES, code: 'sQuArE' }), true, id)
  assert.is(await isIn('any-colors', { system: COLORS, code: 'RED' }), false)
  assert.is(valueIn(await get(`/CodeSystem/$validate-code?url=${SHAPES}&code=square`), 'result'), true)
  assert.is(valueIn(await get(`/CodeSystem/$validate-code?url=${COLORS}&code=RED`), 'result'), false)
  assert.is(valueIn(await get(`/CodeSystem/$lookup?system=${SHAPES}&code=SQUARE`), 'display'), 'Square')
  const compared = await get(`/CodeSystem/$subsumes?system=${SHAPES}&codeA=polygon&codeB=SQUARE`)
  assert.is(valueIn(compared, 'outcome'), 'subsumes')
  // As the code system writes them.
  assert.is(codes(await contains('listed-shapes')), 'Square Kite')
})

test('$expand shows listed codes as their code system does, and leaves out those it lacks', async () => {
  const listed = await contains('listed')
  assert.equal(listed, [
    { system: COLORS, code: 'red', display: 'Red' },
    { system: COLORS, code: 'blue', display: 'Azure' },
    { system: 'http://nowhere.example', code: 'x' },
    { system: 'http://nowhere.example', code: 'y', display: 'Y' },
  ])
  assert.is(await isIn('listed', { system: COLORS, code: 'green' }), false)
})

test('$expand marks codes that are abstract or inactive', async () => {
  const marked = (await contains('shapes')).map(({ code, abstract, inactive }) => [code, abstract, inactive])
  assert.equal(marked, [
    ['Polygon', true, undefined],
    ['Square', undefined, undefined],
    ['Kite', undefined, true],
    ['Lozenge', undefined, true],
  ])
  assert.is(codes(await contains('shapes', '&activeOnly=true')), 'Polygon Square')
  assert.equal(
    (await contains('listed-shapes')).map(({ inactive }) => inactive),
    [undefined, true],
  )
  assert.is(codes(await contains('active-shapes')), 'Square')
})

test('$validate-code refuses abstract codes when it is asked to', async () => {
  const ask = (code: string, abstract: boolean) =>
    get(`/ValueSet/shapes/$validate-code?system=${SHAPES}&code=${code}&abstract=${abstract}`)
  assert.is(valueIn(await ask('Polygon', true), 'result'), true)
  assert.is(valueIn(await ask('Square', false), 'result'), true)
  const refused = await ask('Polygon', false)
  assert.is(valueIn(refused, 'result'), false)
  assert.match(valueIn(refused, 'message'), /Polygon is abstract/)
})

test('a designation is a display, in its language where one is asked for', async () => {
  const shown = (display: string, language?: string) =>
    get(
      `/ValueSet/any-colors/$validate-code?system=${COLORS}&code=red&display=${display}${language === undefined ? '' : `&displayLanguage=${language}`}`,
    )
  const isRight = async (display: string, language?: string) => valueIn(await shown(display, language), 'result')
  for (const display of ['Red', 'red', 'Rot', 'Rott', 'Rouge', '%20rouge%20'])
    assert.is(await isRight(display), true, display)
  assert.is(await isRight('Rosso'), false)
  assert.equal(
    [await isRight('Rot', 'de'), await isRight('Rott', 'de'), await isRight('Rouge', 'fr')],
    [true, true, true],
  )
  assert.equal(
    [await isRight('Rouge', 'de'), await isRight('Rot', 'fr'), await isRight('Rot', 'de-AT')],
    [false, false, false],
  )
  // Where there is nothing in that language, the display itself.
  assert.equal([await isRight('Red', 'es'), await isRight('Rot', 'es')], [true, false])
  const wrong = await shown('Rouge', 'de')
  assert.is(valueIn(wrong, 'message'), 'The display of red in the language de is "Rot" or "Rott".')
  assert.is(valueIn(wrong, 'display'), 'Rot')
  const inSystem = await get(`/CodeSystem/$validate-code?url=${COLORS}&code=red&display=Rouge`)
  assert.is(valueIn(inSystem, 'result'), true)
  // The language of the code system is that of its displays.
  const ofShape = async (display: string, language: string) =>
    valueIn(
      await get(`/CodeSystem/$validate-code?url=${SHAPES}&code=Square&display=${display}&displayLanguage=${language}`),
      'result',
    )
  assert.equal(
    [await ofShape('Square', 'en'), await ofShape('Quadrat', 'en'), await ofShape('Quadrat', 'de')],
    [true, false, true],
  )
  // Those of the value set count with those of the code system.
  const blue = async (display: string) =>
    valueIn(await get(`/ValueSet/listed/$validate-code?system=${COLORS}&code=blue&display=${display}`), 'result')
  assert.equal(
    [await blue('Azure'), await blue('Blue'), await blue('Azzurro'), await blue('Bleu')],
    [true, true, true, false],
  )
})

test('of several codings one with the right display is enough', async () => {
  const concept = {
    coding: [
      { system: COLORS, code: 'red', display: 'Green' },
      { system: COLORS, code: 'blue', display: 'Blue' },
    ],
  }
  const found = await post('/ValueSet/any-colors/$validate-code', [
    { name: 'codeableConcept', valueCodeableConcept: concept },
  ])
  assert.equal([valueIn(found, 'result'), valueIn(found, 'display')], [true, 'Blue'])
})

test('$expand gives designations and displays in a language when it is asked to', async () => {
  const [red] = await contains('old-colors', '&includeDesignations=true')
  assert.equal(red?.designation, [GERMAN, AUSTRIAN, FRENCH])
  assert.is((await contains('old-colors'))[0]?.designation, undefined)
  assert.equal(
    (await contains('old-colors', '&displayLanguage=fr')).map(({ display }) => display),
    ['Rouge', 'Gray'],
  )
  assert.is(codes(await contains('old-colors', '&displayLanguage=fr&filter=rou')), 'red|1')
})

const partsOf = (body: Json, name: string): readonly Json[] =>
  body.parameter.filter((one: Json) => one.name === name).map(({ part }: Json) => part)

test('$lookup gives designations with their language and use', async () => {
  const { body } = await get(`/CodeSystem/$lookup?system=${COLORS}&code=red`)
  assert.equal(partsOf(body, 'designation'), [
    [
      { name: 'language', valueCode: 'de' },
      { name: 'value', valueString: 'Rot' },
    ],
    [
      { name: 'language', valueCode: 'de-AT' },
      { name: 'use', valueCoding: { system: 'http://x', code: 'dialect' } },
      { name: 'value', valueString: 'Rott' },
    ],
    [
      { name: 'language', valueCode: 'fr' },
      { name: 'value', valueString: 'Rouge' },
    ],
  ])
  const count = async (property: string) =>
    partsOf((await get(`/CodeSystem/$lookup?system=${COLORS}&code=red&property=${property}`)).body, 'designation')
      .length
  assert.equal([await count('designation'), await count('lang.fr'), await count('parent')], [3, 1, 0])
  const inFrench = await get(`/CodeSystem/$lookup?system=${COLORS}&code=red&displayLanguage=fr`)
  assert.is(valueIn(inFrench, 'display'), 'Rouge')
})

test('$lookup gives properties with the types that the code system declares', async () => {
  const { body } = await get(`/CodeSystem/$lookup?system=${SHAPES}&code=Square`)
  const values = Object.fromEntries(
    partsOf(body, 'property').map(([code, { name: _name, ...value }]: any) => [code.valueCode, value]),
  )
  assert.equal(values, {
    corners: { valueInteger: 4 },
    ratio: { valueDecimal: 1.5 },
    since: { valueDateTime: '2020-01-01' },
    kind: { valueCoding: { system: 'http://x', code: 'k' } },
    like: { valueCode: 'Rhombus' },
    note: { valueString: 'even' },
    group: { valueBoolean: false },
    parent: { valueCode: 'Polygon' },
  })
})

test.run()
