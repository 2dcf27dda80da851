/** Value sets that code systems define by the form of a URL: SNOMED CT, LOINC, CodeSystem.valueSet. */
// database: sqlite, because value sets are expanded in the process; terminology/indexed.test.ts is on each kind
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import terminology from '../../../plugins/terminology/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

let server: TestServer
const headers = { 'content-type': 'application/fhir+json' }
const SNOMED = 'http://snomed.info/sct'
const EDITION = `${SNOMED}/900000000000207008/version/20260101`

const put = async (id: string, resource: object): Promise<void> => {
  const payload = JSON.stringify({ resourceType: 'CodeSystem', id, status: 'active', content: 'complete', ...resource })
  const answer = await server.inject({ method: 'PUT', url: `/CodeSystem/${id}`, headers, payload })
  assert.ok(answer.statusCode < 300, answer.body)
}
const set = async (url: string): Promise<string> => {
  const answer = await server.inject(`/ValueSet/$expand?url=${encodeURIComponent(url)}`)
  const body = answer.json() as any
  if (answer.statusCode !== 200) return `${answer.statusCode} ${body.issue[0].diagnostics}`
  return (body.expansion.contains ?? []).map(({ code }: any) => code).join(' ')
}

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins, terminology],
    settings: { conformance: { update_as_create: true } },
  })
})
test.after(() => server.stop())

test('without the code system, the value set is known and cannot be expanded', async () => {
  assert.match(await set(`${SNOMED}?fhir_vs`), /^400 .*not-present/)
})

test('SNOMED CT: all, what is below a concept, members of a reference set', async () => {
  const member = (id: string) => ({ property: [{ code: 'memberOf', valueCode: id }] })
  // 1 > 2 > (3 > 5, 4)
  await put('snomed', {
    url: SNOMED,
    version: EDITION,
    property: [{ code: 'memberOf', type: 'code' }],
    concept: [
      {
        code: '1',
        concept: [
          {
            code: '2',
            concept: [{ code: '3', ...member('9001'), concept: [{ code: '5', ...member('9001') }] }, { code: '4' }],
          },
        ],
      },
      { code: '6' },
    ],
  })
  assert.is(await set(`${SNOMED}?fhir_vs`), '1 2 3 5 4 6')
  assert.is(await set(`${SNOMED}?fhir_vs=isa/3`), '3 5')
  assert.is(await set(`${SNOMED}?fhir_vs=refset/9001`), '3 5')
  assert.is(await set(`${EDITION}?fhir_vs=isa/3`), '3 5')
  assert.is(await set(`${SNOMED}?fhir_vs=isa/3|${EDITION}`), '3 5')
  assert.match(await set(`${SNOMED}/900000000000207008/version/20000101?fhir_vs`), /^400 /)
  assert.match(await set(`${SNOMED}?fhir_vs=isa/77`), /^400 .*77/)
  assert.match(await set(`${SNOMED}?fhir_vs=refset`), /^400 /)
  assert.match(await set(`${SNOMED}?fhir_vs=nonsense/1`), /^404 /)
})

test('SNOMED CT: expression constraints without refinements', async () => {
  const ecl = (text: string) => set(`${SNOMED}?fhir_vs=ecl/${encodeURIComponent(text)}`)
  for (const [text, codes] of [
    ['*', '1 2 3 5 4 6'],
    ['3', '3'],
    ['<< 3 |Third|', '3 5'],
    ['<3', '5'],
    ['<! 2', '3 4'],
    ['>> 3', '1 2 3'],
    ['> 3', '1 2'],
    ['>! 3', '2'],
    ['^ 9001', '3 5'],
    ['<< 2 AND ^9001', '3 5'],
    ['4 OR 6', '4 6'],
    ['<< 2 MINUS << 3', '2 4'],
    ['(<< 3 OR 4) AND (5 OR 4)', '5 4'],
    ['<< 1 MINUS (3 OR 5)', '1 2 4'],
  ] as const)
    assert.is(await ecl(text), codes, text)
  for (const text of ['<< 3 : 363698007 = 1', '<< 3 AND 4 OR 5', '(3', 'abc', '<<', '<< 1 MINUS 2 MINUS 3', ''])
    assert.match(await ecl(text), /^40[04] /, text)
})

test('a reference set without its property is refused, not empty', async () => {
  await put('loinc', { url: 'http://loinc.org', version: '2.80', concept: [{ code: '1-8' }] })
  assert.match(await set('http://loinc.org/vs/LL715-4'), /^400 .*LIST/)
})

test('LOINC: all, an answer list, what is below a part', async () => {
  await put('loinc', {
    url: 'http://loinc.org',
    version: '2.80',
    property: [{ code: 'LIST', type: 'code' }],
    concept: [
      { code: 'LP7-1', concept: [{ code: '1-8' }, { code: '2-6' }] },
      { code: 'LA1-1', property: [{ code: 'LIST', valueCode: 'LL715-4' }] },
      { code: 'LL9-9', concept: [{ code: 'LA2-2' }] },
    ],
  })
  assert.is(await set('http://loinc.org/vs'), 'LP7-1 1-8 2-6 LA1-1 LL9-9 LA2-2')
  assert.is(await set('http://loinc.org/vs|2.80'), 'LP7-1 1-8 2-6 LA1-1 LL9-9 LA2-2')
  assert.is(await set('http://loinc.org/vs/LL715-4'), 'LA1-1')
  assert.is(await set('http://loinc.org/vs/LL9-9'), 'LA2-2')
  assert.is(await set('http://loinc.org/vs/LP7-1'), '1-8 2-6')
  assert.match(await set('http://loinc.org/vs/LP404-4'), /^400 /)
  assert.match(await set('http://loinc.org/vs|1.0'), /^400 |^404 /)
})

test('the value set that a code system names, or [url]/vs and [url]?vs', async () => {
  const concept = [{ code: 'a' }, { code: 'b' }]
  await put('plain', { url: 'http://plain.example', concept })
  assert.is(await set('http://plain.example/vs'), 'a b')
  assert.is(await set('http://plain.example?vs'), 'a b')
  await put('saying', { url: 'http://e.example/CodeSystem/s', valueSet: 'http://e.example/ValueSet/s', concept })
  assert.is(await set('http://e.example/ValueSet/s'), 'a b')
  assert.match(await set('http://e.example/CodeSystem/s?vs'), /^404 /)
  assert.match(await set('http://absent.example/vs'), /^404 /)
  const check = await server.inject(
    '/ValueSet/$validate-code?url=http://unitsofmeasure.org/vs&system=http://unitsofmeasure.org&code=mg',
  )
  assert.ok(check.body.includes('"valueBoolean":true'), check.body)
})

test('searches use them', async () => {
  const resource = { resourceType: 'Observation', status: 'final', code: { coding: [{ system: SNOMED, code: '5' }] } }
  await server.inject({ method: 'POST', url: '/Observation', headers, payload: JSON.stringify(resource) })
  const found = await server.inject(
    `/Observation?code:in=${encodeURIComponent(`${SNOMED}?fhir_vs=isa/3`)}&_summary=count`,
  )
  assert.is(found.json<any>().total, 1, found.body)
})

test.run()
