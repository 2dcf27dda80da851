/** $expand, $validate-code, $lookup and $subsumes. https://hl7.org/fhir/R4/terminology-service.html */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import terminology from '../../../plugins/terminology/index.ts'
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
const COLORS = 'http://colors.example'
const valueSet = {
  resourceType: 'ValueSet',
  id: 'warm',
  status: 'active',
  url: 'http://sets.example/warm',
  compose: { include: [{ system: COLORS, filter: [{ property: 'concept', op: 'is-a', value: 'warm' }] }] },
}
const GENDERS = 'http://hl7.org/fhir/ValueSet/administrative-gender'

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins, terminology],
    settings: { conformance: { update_as_create: true } },
  })
  await put({
    resourceType: 'CodeSystem',
    id: 'colors',
    status: 'active',
    url: COLORS,
    version: '3',
    name: 'Colors',
    content: 'complete',
    property: [{ code: 'hex', type: 'string' }],
    concept: [
      {
        code: 'warm',
        display: 'Warm',
        concept: [
          {
            code: 'red',
            display: 'Bright red',
            definition: 'Like blood',
            property: [{ code: 'hex', valueString: 'f00' }],
          },
          { code: 'orange', display: 'Orange' },
        ],
      },
      { code: 'blue', display: 'Blue' },
    ],
  })
  await put(valueSet)
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
const codesOf = ({ body }: { body: any }): string =>
  (body.expansion.contains ?? []).map(({ code }: any) => code).join(' ')
const valueIn = ({ body }: { body: any }, name: string): unknown => {
  const found = body.parameter.find((one: any) => one.name === name) ?? {}
  return Object.entries(found).find(([member]) => member.startsWith('value'))?.[1]
}

test('$expand gives the codes of a value set, by url, by address and of the body', async () => {
  const byUrl = await get('/ValueSet/$expand?url=http://sets.example/warm')
  assert.is(byUrl.status, 200, JSON.stringify(byUrl.body))
  assert.is(byUrl.body.resourceType, 'ValueSet')
  assert.is(byUrl.body.expansion.total, 3)
  assert.equal(byUrl.body.expansion.contains[1], { system: COLORS, code: 'red', display: 'Bright red' })
  assert.is(codesOf(await get('/ValueSet/warm/$expand')), 'warm red orange')
  assert.is(codesOf(await get(`/ValueSet/$expand?url=${GENDERS}`)), 'male female other unknown')
  const { id: _id, ...given } = valueSet
  const body = [{ name: 'valueSet', resource: { ...given, url: 'http://sets.example/given' } }]
  assert.is(codesOf(await post('/ValueSet/$expand', body)), 'warm red orange')
})

test('$expand pages and filters', async () => {
  const url = '/ValueSet/warm/$expand'
  assert.is(codesOf(await get(`${url}?filter=re`)), 'red')
  assert.is(codesOf(await get(`${url}?filter=bri`)), 'red')
  assert.is(codesOf(await get(`${url}?filter=ight`)), '')
  // Each word of the filter begins a word of the display, in any order.
  for (const filter of ['red bri', 'BRI Re', 'bright red', ' r  b ', 'brî'])
    assert.is(codesOf(await get(`${url}?filter=${encodeURIComponent(filter)}`)), 'red', filter)
  for (const filter of ['red ight', 'red x']) assert.is(codesOf(await get(`${url}?filter=${filter}`)), '', filter)
  const page = await get(`${url}?offset=1&count=1`)
  assert.is(codesOf(page), 'red')
  assert.is(page.body.expansion.total, 3)
  assert.is(page.body.expansion.offset, 1)
  assert.is(codesOf(await get(`${url}?count=0`)), '')
})

test('$validate-code says whether a code is in a value set', async () => {
  const ask = (query: string) => get(`/ValueSet/$validate-code?url=http://sets.example/warm&${query}`)
  const yes = await ask(`system=${COLORS}&code=red`)
  assert.is(valueIn(yes, 'result'), true)
  assert.is(valueIn(yes, 'display'), 'Bright red')
  const no = await ask(`system=${COLORS}&code=blue`)
  assert.is(valueIn(no, 'result'), false)
  assert.match(String(valueIn(no, 'message')), `${COLORS}|blue is not in`)
  assert.is(valueIn(await ask('system=http://other.example&code=red'), 'result'), false)
  assert.is((await ask('code=red')).status, 400)
  assert.is(valueIn(await ask(`system=${COLORS}&code=red&display=Bright%20Red`), 'result'), true)
  const shown = await ask(`system=${COLORS}&code=red&display=Green`)
  assert.is(valueIn(shown, 'result'), false)
  assert.match(String(valueIn(shown, 'message')), 'Bright red')
  const concept = {
    coding: [
      { system: 'http://x', code: 'y' },
      { system: COLORS, code: 'orange' },
    ],
  }
  const posted = await post('/ValueSet/warm/$validate-code', [
    { name: 'codeableConcept', valueCodeableConcept: concept },
  ])
  assert.is(valueIn(posted, 'result'), true)
})

test('$validate-code says whether a code is in a code system', async () => {
  const ask = (query: string) => get(`/CodeSystem/$validate-code?${query}`)
  assert.is(valueIn(await ask(`url=${COLORS}&code=blue`), 'result'), true)
  assert.is(valueIn(await ask(`url=${COLORS}&code=green`), 'result'), false)
  assert.is(valueIn(await get('/CodeSystem/colors/$validate-code?code=blue'), 'display'), 'Blue')
  const coding = { system: COLORS, code: 'red' }
  assert.is(
    valueIn(await post('/CodeSystem/$validate-code', [{ name: 'coding', valueCoding: coding }]), 'result'),
    true,
  )
})

test('$lookup tells what a code system says of a code', async () => {
  const found = await get(`/CodeSystem/$lookup?system=${COLORS}&code=red`)
  assert.is(found.status, 200, JSON.stringify(found.body))
  assert.is(valueIn(found, 'name'), 'Colors')
  assert.is(valueIn(found, 'version'), '3')
  assert.is(valueIn(found, 'display'), 'Bright red')
  const properties = found.body.parameter
    .filter(({ name }: any) => name === 'property')
    .map(({ part }: any) => `${part[0].valueCode}=${part[1].valueCode ?? part[1].valueString}`)
  assert.equal(properties, ['hex=f00', 'parent=warm', 'definition=Like blood'])
  const one = await get(`/CodeSystem/$lookup?system=${COLORS}&code=warm&property=child`)
  assert.is(one.body.parameter.filter(({ name }: any) => name === 'property').length, 2)
})

test('$subsumes compares two codes', async () => {
  const ask = async (a: string, b: string) =>
    valueIn(await get(`/CodeSystem/$subsumes?system=${COLORS}&codeA=${a}&codeB=${b}`), 'outcome')
  assert.is(await ask('warm', 'red'), 'subsumes')
  assert.is(await ask('red', 'warm'), 'subsumed-by')
  assert.is(await ask('red', 'red'), 'equivalent')
  assert.is(await ask('red', 'blue'), 'not-subsumed')
})

test('what is not known is 404, what is missing or not all here 400', async () => {
  for (const [url, status, said] of [
    ['/ValueSet/$expand', 400, /url of a value set/],
    ['/ValueSet/$expand?url=http://nowhere.example', 404, /nowhere/],
    ['/ValueSet/nobody/$expand', 404, /nobody/],
    ['/ValueSet/$validate-code?url=http://sets.example/warm', 400, /a code/],
    ['/CodeSystem/$validate-code?code=x', 400, /url of a code system/],
    ['/CodeSystem/$lookup?code=x', 400, /system/],
    ['/CodeSystem/$lookup?system=http://nowhere.example&code=x', 404, /nowhere/],
    [`/CodeSystem/$lookup?system=${COLORS}&code=green`, 404, /no code "green"/],
    ['/CodeSystem/$lookup?system=http://snomed.info/sct&code=1', 400, /not-present/],
    [`/CodeSystem/$subsumes?system=${COLORS}&codeA=red`, 400, /codeA and codeB/],
    ['/ValueSet/$expand?url=x&foo=1', 400, /foo/],
  ] as const) {
    const { status: given, body } = await get(url)
    assert.is(given, status, `${url} ${JSON.stringify(body)}`)
    assert.match(body.issue[0].diagnostics, said, url)
  }
})

test('inputs that contradict one another are refused with both', async () => {
  const warm = '/ValueSet/warm'
  const colors = '/CodeSystem/colors'
  for (const [url, said] of [
    [
      `${colors}/$validate-code?url=http://other.example&code=red`,
      /url "http:\/\/other.example" contradicts the url of CodeSystem\/colors "http:\/\/colors/,
    ],
    [
      `${colors}/$validate-code?url=${COLORS}|9&code=red`,
      /version "9" contradicts the version of CodeSystem\/colors "3"/,
    ],
    [
      `${colors}/$subsumes?system=http://other.example&codeA=red&codeB=warm`,
      /system "http:\/\/other.example" contradicts/,
    ],
    [
      `${colors}/$subsumes?version=9&codeA=red&codeB=warm`,
      /version "9" contradicts the version of CodeSystem\/colors "3"/,
    ],
    [`${colors}/$subsumes?system=${COLORS}|9&codeA=red&codeB=warm`, /version "9" contradicts/],
    [
      `/CodeSystem/$subsumes?system=${COLORS}|3&version=9&codeA=red&codeB=warm`,
      /version "9" contradicts the version in system "3"/,
    ],
    [`/CodeSystem/$lookup?system=${COLORS}|3&version=9&code=red`, /version "9" contradicts the version in system "3"/],
    [`/CodeSystem/$validate-code?url=${COLORS}|3&version=9&code=red`, /version "9" contradicts the version in url "3"/],
    [
      `${warm}/$expand?url=http://other.example`,
      /url "http:\/\/other.example" contradicts the url of ValueSet\/warm "http:\/\/sets/,
    ],
    [`${warm}/$expand?valueSetVersion=9`, /valueSetVersion "9" contradicts the version of ValueSet\/warm ""/],
    [
      `${warm}/$validate-code?url=http://other.example&system=${COLORS}&code=red`,
      /url "http:\/\/other.example" contradicts/,
    ],
    [
      '/ValueSet/$expand?url=http://sets.example/warm|1&valueSetVersion=9',
      /valueSetVersion "9" contradicts the version in url "1"/,
    ],
    [`${warm}/$expand?count=-5`, /count is -5; it takes 0 or more/],
    [`${warm}/$expand?offset=-1&count=2`, /offset is -1; it takes 0 or more/],
  ] as const) {
    const { status, body } = await get(url)
    assert.is(status, 400, `${url} ${JSON.stringify(body)}`)
    assert.match(body.issue[0].diagnostics, said, url)
  }
  const red = { name: 'coding', valueCoding: { system: COLORS, version: '3', code: 'red' } }
  for (const [url, parameter, said] of [
    [
      `${warm}/$validate-code`,
      [red, { name: 'code', valueCode: 'blue' }],
      /code "blue" contradicts the code of coding "red"/,
    ],
    [
      '/CodeSystem/$lookup',
      [red, { name: 'system', valueUri: 'http://other.example' }],
      /system "http:\/\/other.example" contradicts/,
    ],
    [
      '/CodeSystem/$lookup',
      [red, { name: 'version', valueString: '9' }],
      /version "9" contradicts the version of coding "3"/,
    ],
    [
      `${warm}/$validate-code`,
      [red, { name: 'systemVersion', valueString: '9' }],
      /systemVersion "9" contradicts the version of coding "3"/,
    ],
    [
      `${warm}/$validate-code`,
      [red, { name: 'codeableConcept', valueCodeableConcept: { coding: [{ system: COLORS, code: 'blue' }] } }],
      /the code of coding "red" contradicts codeableConcept "blue"/,
    ],
    [
      `${colors}/$subsumes`,
      [
        { name: 'codeA', valueCode: 'blue' },
        { name: 'codingA', valueCoding: { system: COLORS, code: 'red' } },
        { name: 'codeB', valueCode: 'warm' },
      ],
      /codeA "blue" contradicts the code of codingA "red"/,
    ],
    [
      '/ValueSet/$expand',
      [
        { name: 'url', valueUri: 'http://other.example' },
        { name: 'valueSet', resource: { ...valueSet, id: undefined } },
      ],
      /url "http:\/\/other.example" contradicts the url of the parameter valueSet/,
    ],
    [
      `${warm}/$expand`,
      [{ name: 'valueSet', resource: { ...valueSet, url: 'http://sets.example/sent' } }],
      /valueSet "http:\/\/sets.example\/sent" contradicts the address "ValueSet\/warm"/,
    ],
  ] as const) {
    const { status, body } = await post(url, parameter)
    assert.is(status, 400, `${url} ${JSON.stringify(body)}`)
    assert.match(body.issue[0].diagnostics, said, url)
  }
})

test('inputs that repeat what the address says are taken', async () => {
  const warm = '/ValueSet/warm'
  assert.is(codesOf(await get(`${warm}/$expand?url=http://sets.example/warm`)), 'warm red orange')
  const coded = `${warm}/$validate-code?url=http://sets.example/warm&system=${COLORS}&code=red`
  assert.is(valueIn(await get(coded), 'result'), true)
  for (const query of [`url=${COLORS}`, `url=${COLORS}|3`, `url=${COLORS}|3&version=3`, 'version=3'])
    assert.is(valueIn(await get(`/CodeSystem/colors/$validate-code?${query}&code=red`), 'result'), true, query)
  for (const query of [`system=${COLORS}`, `system=${COLORS}|3&version=3`, 'version=3'])
    assert.is(
      valueIn(await get(`/CodeSystem/colors/$subsumes?${query}&codeA=warm&codeB=red`), 'outcome'),
      'subsumes',
      query,
    )
  const red = { name: 'coding', valueCoding: { system: COLORS, code: 'red' } }
  const both = await post('/CodeSystem/$lookup', [
    red,
    { name: 'code', valueCode: 'red' },
    { name: 'system', valueUri: COLORS },
  ])
  assert.is(both.status, 200)
})

test('/metadata names the operations', async () => {
  const { rest } = (await get('/metadata')).body
  const operations = (type: string) =>
    rest[0].resource
      .find((one: any) => one.type === type)
      .operation.map(({ name }: any) => name)
      .join(' ')
  assert.match(operations('ValueSet'), /expand.*validate-code/)
  assert.match(operations('CodeSystem'), /validate-code.*lookup.*subsumes/)
})

test.run()
