/** Paging, sorting, totals, includes, links, leniency and limits of a search. https://hl7.org/fhir/R4/search.html */
// npm test: sqlite and postgres, whose statements differ
// memory: long reads have no thread of their own there
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { systemClock } from '../../../kernel/clock.ts'
import type { Clock } from '../../../kernel/index.ts'
import { type Caller, definePlugin } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

let server: TestServer
let caller: Caller | undefined
let ahead = 0 // milliseconds the clock is in front
const clock: Clock = { ...systemClock, now: () => systemClock.now() + ahead }
const someone = definePlugin({
  name: 'someone',
  setup({ hooks }) {
    hooks.authenticate.tap('as told', () => caller)
  },
})
const headers = { 'content-type': 'application/fhir+json' }
const put = async (resource: Record<string, any>): Promise<void> => {
  const url = `/${resource.resourceType}/${resource.id}`
  const answer = await server.inject({ method: 'PUT', url, headers, payload: JSON.stringify(resource) })
  assert.ok(answer.statusCode < 300, answer.body)
}
const patient = (id: string, more: object = {}) =>
  put({ resourceType: 'Patient', id, name: [{ family: `F${id}` }], gender: 'male', ...more })

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), someone, ...fhirPlugins],
    settings: { conformance: { update_as_create: true }, fhir: { max_page_size: 100 } },
    clock,
  })
  for (let at = 1; at <= 25; at += 1)
    await patient(`p${String(at).padStart(2, '0')}`, at % 5 === 0 ? {} : { birthDate: `19${50 + (at % 7)}-01-01` })
  await put({ resourceType: 'Location', id: 'top', name: 'Top', partOf: { reference: 'Location/bottom' } })
  await put({ resourceType: 'Location', id: 'middle', name: 'Middle', partOf: { reference: 'Location/top' } })
  await put({ resourceType: 'Location', id: 'bottom', name: 'Bottom', partOf: { reference: 'Location/middle' } })
  await put({
    resourceType: 'Observation',
    id: 'o1',
    status: 'final',
    code: { text: 'x' },
    subject: { reference: 'Patient/p01' },
    valueQuantity: { value: 1.0 },
  })
})
test.after(() => server.stop())

const get = async (url: string, more: object = {}) => {
  const answer = await server.inject({ method: 'GET', url, ...more })
  return { status: answer.statusCode, body: answer.json(), text: answer.body }
}
const idsOf = (bundle: any, mode = 'match'): string[] =>
  (bundle.entry ?? []).filter((entry: any) => entry.search.mode === mode).map((entry: any) => entry.resource.id)
const linkOf = (bundle: any, relation: string): string | undefined => {
  const url = bundle.link.find((one: any) => one.relation === relation)?.url as string | undefined
  return url?.slice(url.indexOf('/', 8))
}
const walk = async (first: string, between: () => Promise<void> = async () => undefined): Promise<string[]> => {
  const found: string[] = []
  for (let next: string | undefined = first; next !== undefined; ) {
    const { body, status, text } = await get(next)
    assert.is(status, 200, text)
    found.push(...idsOf(body))
    next = linkOf(body, 'next')
    await between()
  }
  return found
}

test('pages neither shift, repeat nor lose what was there while others write', async () => {
  const before = idsOf((await get('/Patient?gender=male&_count=100')).body)
  let made = 0
  const found = await walk('/Patient?gender=male&_count=4', async () => {
    made += 1
    await patient(`new${made}`)
    await patient('p01', { active: made % 2 === 0 })
  })
  assert.equal(found, before)
  for (let at = 1; at <= made; at += 1) await server.inject({ method: 'DELETE', url: `/Patient/new${at}` })
})

test('sorted pages hold every match once, those without a value last', async () => {
  for (const sort of ['birthdate', '-birthdate', 'birthdate,-name', '-name', '_id', '-_lastUpdated,_id']) {
    const whole = idsOf((await get(`/Patient?_sort=${sort}&_count=100`)).body)
    assert.is(whole.length, 25)
    assert.equal(await walk(`/Patient?_sort=${sort}&_count=4`), whole, sort)
  }
  const { body } = await get('/Patient?_sort=birthdate&_count=100')
  const dates = body.entry.map((entry: any) => entry.resource.birthDate as string | undefined)
  const present = dates.filter((one: string | undefined) => one !== undefined)
  assert.equal(present, [...present].sort())
  assert.ok(present.length < 25)
  assert.ok(dates.slice(present.length).every((one: unknown) => one === undefined))
  const down = (await get('/Patient?_sort=-birthdate&_count=100')).body.entry.map(
    (entry: any) => entry.resource.birthDate,
  )
  assert.equal(down.slice(0, present.length), [...present].sort().reverse())
})

test('a page link that was changed is 400, one of another caller 404, an old one 410', async () => {
  const { body } = await get('/Patient?_count=2')
  const next = linkOf(body, 'next') as string
  const page = new URLSearchParams(next.slice(next.indexOf('?'))).get('_page') as string
  const flip = page.slice(0, 10) + (page[10] === 'A' ? 'B' : 'A') + page.slice(11)
  for (const bad of [
    next.replace(page, flip),
    next.replace('_count=2', '_count=3'),
    next.replace('/Patient', '/Practitioner'),
    '/Patient?_count=2&_page=x',
    `${next}x`,
  ])
    assert.is((await get(bad)).status, 400, bad)
  caller = { kind: 'client', client: 'another' }
  assert.is((await get(next)).status, 404)
  caller = undefined
  ahead = 25 * 3_600_000
  assert.is((await get(next)).status, 410)
  ahead = 0
  assert.is((await get(next)).status, 200)
})

test('_count is capped and shown so, 0 counts only, and nonsense is 400', async () => {
  const capped = await get('/Patient?_count=999999999')
  assert.is(capped.status, 200)
  assert.match(linkOf(capped.body, 'self') as string, '_count=100')
  const { body } = await get('/Patient?_count=0')
  assert.is(body.total, 25)
  assert.is(body.entry, undefined)
  for (const bad of ['-1', 'abc', '1e3', '1.5']) assert.is((await get(`/Patient?_count=${bad}`)).status, 400, bad)
})

test('a total comes without being asked for where the first page holds all matches', async () => {
  const totalOf = async (query: string) => (await get(query)).body.total
  assert.is(await totalOf('/Patient?name=fp0&gender=male&_count=9'), 9)
  assert.is(await totalOf('/Patient?name=fp0&gender=male&_count=8'), undefined)
  assert.is(await totalOf('/Patient?_sort=birthdate&_count=25'), 25)
  assert.is(
    await totalOf('/Patient?gender=male&_sort=birthdate&_count=3&_total=estimate'),
    await totalOf('/Patient?gender=male&_summary=count'),
  )
  assert.is(await totalOf('/Patient?_id=nobody'), 0)
  assert.is(await totalOf('/Patient?_id=p01'), 1)
  // Kept from the first time on SQLite.
  assert.is(await totalOf('/Patient?_id=p01'), 1)
  const left = await get('/Patient?_id=p01&_total=none')
  assert.is(left.body.total, undefined)
  assert.match(linkOf(left.body, 'self') as string, '_total=none')
  const last = await get(linkOf((await get('/Patient?_count=20')).body, 'next') as string)
  assert.is(last.body.total, undefined, 'a later page does not know what came before')
})

test('a total is given when asked for', async () => {
  assert.is((await get('/Patient?_count=2')).body.total, undefined)
  assert.is((await get('/Patient?_count=2&_total=none')).body.total, undefined)
  assert.is((await get('/Patient?_count=2&_total=accurate')).body.total, 25)
  assert.is((await get('/Patient?_count=2&_total=estimate')).body.total, 25)
  assert.is((await get('/Patient?gender=male&name=fp0&_total=accurate&_count=2')).body.total, 9)
  assert.is((await get('/Patient?_total=many')).status, 400)
})

test('_summary and _elements shorten the entries, and say so', async () => {
  const tagOf = (resource: any) => resource.meta.tag?.[0].code
  const short = (await get('/Patient?_id=p01&_summary=true')).body.entry[0].resource
  assert.is(tagOf(short), 'SUBSETTED')
  assert.is(short.gender, 'male')
  const few = (await get('/Patient?_id=p01&_elements=gender')).body.entry[0].resource
  assert.equal(Object.keys(few).sort(), ['gender', 'id', 'meta', 'resourceType'])
  assert.is((await get('/Patient?_id=p01&_summary=text')).body.entry[0].resource.gender, undefined)
  assert.is((await get('/Patient?_id=p01&_summary=data')).body.entry[0].resource.gender, 'male')
  assert.is(tagOf((await get('/Patient?_id=p01&_summary=false')).body.entry[0].resource), undefined)
  const count = (await get('/Patient?_summary=count')).body
  assert.is(count.total, 25)
  assert.is(count.entry, undefined)
  assert.is((await get('/Patient?_summary=some')).status, 400)
})

test('stored bytes are sent as they are', async () => {
  assert.match((await get('/Observation?_id=o1')).text, '"valueQuantity":{"value":1}')
  await server.inject({
    method: 'PUT',
    url: '/Observation/o1',
    headers,
    payload:
      '{"resourceType":"Observation","id":"o1","status":"final","code":{"text":"x"},"subject":{"reference":"Patient/p01"},"valueQuantity":{"value":1.00}}',
  })
  assert.match((await get('/Observation?_id=o1')).text, '"valueQuantity":{"value":1.00}')
})

test('of two preferences for handling the first counts', async () => {
  const ask = (prefer: string) => server.inject({ url: '/Patient?unknown=1', headers: { prefer } })
  assert.is((await ask('handling=strict, handling=lenient')).statusCode, 400)
  assert.is((await ask('handling=lenient, handling=strict')).statusCode, 200)
})

test('what is not understood is passed over with handling=lenient, named, and absent from the self link', async () => {
  const strict = await get('/Patient?foo=1&gender=male')
  assert.is(strict.status, 400)
  const { status, body } = await get('/Patient?foo=1&gender=male&_sort=foo&name:bar=x&_count=3', {
    headers: { prefer: 'handling=lenient' },
  })
  assert.is(status, 200)
  assert.is(idsOf(body).length, 3)
  const outcome = body.entry.at(-1)
  assert.is(outcome.search.mode, 'outcome')
  const said = outcome.resource.issue.map((issue: any) => issue.diagnostics).join(' ')
  for (const name of ['foo', 'name:bar', '_sort']) assert.match(said, `"${name}" was ignored`)
  const self = linkOf(body, 'self') as string
  assert.is(self, '/Patient?gender=male&_count=3')
  // A wrong value is wrong all the same.
  assert.is((await get('/Patient?birthdate=zz', { headers: { prefer: 'handling=lenient' } })).status, 400)
})

test('_include follows references, each resource once, and a circle ends', async () => {
  const once = (await get('/Location?_id=bottom&_include=Location:partof')).body
  assert.equal(idsOf(once, 'include'), ['middle'])
  const all = (await get('/Location?_id=bottom&_include:iterate=Location:partof')).body
  assert.equal(idsOf(all, 'include').sort(), ['middle', 'top'])
  assert.equal(idsOf((await get('/Observation?_id=o1&_include=*')).body, 'include'), ['p01'])
  assert.equal(idsOf((await get('/Observation?_id=o1&_include=Observation:subject:Group')).body, 'include'), [])
  assert.equal(idsOf((await get('/Patient?_id=p01&_revinclude=Observation:subject')).body, 'include'), ['o1'])
  assert.equal(idsOf((await get('/Patient?_id=p01&_revinclude=*')).body, 'include'), ['o1'])
  assert.equal(idsOf((await get('/Observation?_include=Observation:subject&_id=o1&_count=0')).body, 'include'), [])
  for (const bad of ['Observation', 'Foo:subject', 'Observation:code', 'Observation:foo', 'Observation:subject:Foo'])
    assert.is((await get(`/Observation?_include=${bad}`)).status, 400, bad)
  assert.is((await get('/Location?_include:foo=Location:partof')).status, 400)
})

test('GET and POST, query and form are one search', async () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const post = (url: string, payload: string, type: Record<string, string> = form) =>
    server.inject({ method: 'POST', url, headers: type, payload })
  const merged = await post('/Patient/_search?gender=male', 'name=fp01')
  assert.is(merged.statusCode, 200)
  assert.equal(idsOf(merged.json()), ['p01'])
  assert.equal(idsOf((await post('/_search', '_type=Patient&_id=p02')).json()), ['p02'])
  const wrong = await post('/Patient/_search', '{}', headers)
  assert.is(wrong.statusCode, 415)
  assert.is(wrong.json().issue[0].code, 'not-supported')
  const head = await server.inject({ method: 'DELETE', url: '/Patient/_search' })
  assert.is(head.statusCode, 405)
})

test('several types are searched at once by what they share', async () => {
  const { body } = await get('/?_type=Patient,Observation&_id=p01,o1')
  assert.equal(idsOf(body), ['o1', 'p01'])
  assert.is((await get('/?_type=Foo')).status, 404)
  assert.is((await get('/?name=x')).status, 400)
  assert.is((await get('/?_type=Patient,Observation&_sort=name')).status, 400)
  assert.is((await walk('/?_count=7')).length, 29)
})

test('_type where the address names the type is refused, and the message says where it goes', async () => {
  const { status, body } = await get('/Patient?_type=Patient')
  assert.is(status, 400)
  assert.match(body.issue[0].diagnostics, /^_type is for searches over several types, .* Leave _type out\.$/)
})

test('a compartment holds what its definition says', async () => {
  assert.equal(idsOf((await get('/Patient/p01/Observation')).body), ['o1'])
  assert.equal(idsOf((await get('/Patient/p02/Observation')).body), [])
  assert.equal(idsOf((await get('/Patient/p01/*')).body).sort(), ['o1', 'p01'])
  assert.is((await get('/Location/top/Observation')).status, 404)
  assert.is((await get('/Patient/p01/Foo')).status, 404)
})

test('chains and _has lead from one resource to another', async () => {
  assert.equal(idsOf((await get('/Observation?subject:Patient.name=fp01')).body), ['o1'])
  assert.equal(idsOf((await get('/Observation?patient.gender=male')).body), ['o1'])
  assert.equal(idsOf((await get('/Observation?subject.name=fp02')).body), [])
  assert.equal(idsOf((await get('/Location?partof.partof.name=top')).body), ['bottom'])
  assert.equal(idsOf((await get('/Patient?_has:Observation:subject:status=final')).body), ['p01'])
  assert.equal(idsOf((await get('/Patient?_has:Observation:subject:status=amended')).body), [])
  for (const bad of [
    'subject.foo=1',
    'code.name=1',
    'subject:Foo.name=1',
    '_has:Foo:x:y=1',
    '_has:Observation=1',
    '_has:Observation:code:x=1',
  ])
    assert.is((await get(`/Observation?${bad}`)).status, 400, bad)
})

test('what would cost too much is refused as such', async () => {
  const many = Array.from({ length: 10_000 }, (_, at) => `c${at}`).join(',')
  const deep = `/Location?${Array(20).fill('partof').join('.')}.name=x`
  const has = `/Patient?${Array(20).fill('_has:Observation:subject').join(':')}:status=x`
  const wide = `/Patient?${Array.from({ length: 20 }, () => '_has:Observation:subject:status=final').join('&')}`
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const answers = [
    await server.inject({ method: 'POST', url: '/Patient/_search', headers: form, payload: `identifier=${many}` }),
    await server.inject({
      method: 'POST',
      url: '/Patient/_search',
      headers: form,
      payload: Array(1000).fill('name=a').join('&'),
    }),
    await server.inject(deep),
    await server.inject(has),
    await server.inject(wide),
  ]
  for (const answer of answers) {
    assert.is(answer.statusCode, 400)
    assert.is(answer.json().issue[0].code, 'too-costly')
  }
})

test('values that look like SQL, patterns or attacks are values', async () => {
  const attacks = [
    "' OR 1=1--",
    '1;DROP TABLE resource',
    '%',
    '_',
    '\\',
    '"',
    '*',
    '(a+)+$',
    `${'a'.repeat(3_000)}!`,
    '\u202e',
    '😀',
    'e\u0301'.repeat(500),
  ]
  for (const name of [
    'name',
    'identifier',
    'gender',
    'organization',
    '_id',
    'birthdate',
    '_profile',
    '_sort',
    '_elements',
    '_include',
    '_lastUpdated',
    '_has:Observation:subject:code',
    "na'me",
    "name:ex'act",
  ])
    for (const attack of attacks) {
      const answer = await server.inject(`/Patient?${encodeURIComponent(name)}=${encodeURIComponent(attack)}`)
      assert.ok(answer.statusCode === 200 || answer.statusCode === 400, `${name}=${attack} ${answer.statusCode}`)
      // Everything may be included with everything.
      if (answer.statusCode === 200 && name !== '_include') assert.equal(idsOf(answer.json()), [], `${name}=${attack}`)
      assert.not.match(answer.body, /SELECT|SQLITE|syntax error/)
    }
  assert.is((await get('/Patient?_summary=count')).body.total, 25)
})

test('_explain tells what was understood and where the search starts', async () => {
  const { body } = await get('/Patient?gender=male&name=fp01&_explain=true')
  const said = body.entry
    .at(-1)
    .resource.issue.map((issue: any) => issue.diagnostics)
    .join('\n')
  assert.match(said, /gender=male: token http\S+individual-gender: any of male; index ix_token/)
  assert.match(said, /name=fp01: string \S+: any of fp01; index ix_str, scanned/)
  assert.match(said, /starts from "name=fp01" \(1 row, the fewest of all\), .*; 1 other clause is checked by key/)
  assert.match(said, /the search took \d+\.\d\d ms/)
  // What the database makes of it, in its own words.
  assert.match(
    said,
    /the database took \d+\.\d\d ms[^\n]*\n.*(USING (COVERING )?INDEX|USING PRIMARY KEY|Index (Only )?Scan|Nested Loop)/s,
  )
  assert.not.match(said, 'SELECT ')
  const sorted = JSON.stringify((await get('/Patient?_sort=-birthdate&_explain=true')).body)
  assert.match(sorted, /goes through the resources of the type, newest first/)
  assert.match(sorted, /sorted by -birthdate/)
  assert.not.match(JSON.stringify((await get('/Patient?gender=male&_explain=false')).body), 'the search took')
})

test('an include that is given twice is followed once', async () => {
  const statements = async (query: string): Promise<number> =>
    JSON.stringify((await get(`/Patient?${query}&_explain=true`)).body).split('the database took').length - 1
  const include = '_revinclude=Observation:subject'
  assert.ok((await statements(include)) > (await statements('')))
  assert.is(await statements(`${include}&${include}`), await statements(include))
})

test('/metadata lists the parameters that are searched', async () => {
  const { body } = await get('/metadata')
  const described = body.rest[0].resource.find((one: any) => one.type === 'Patient')
  const names = described.searchParam.map((one: any) => one.name)
  for (const name of ['_id', '_lastUpdated', 'name', 'birthdate', 'identifier']) assert.ok(names.includes(name), name)
  for (const name of names.filter((one: string) => !one.startsWith('_')))
    assert.is((await get(`/Patient?${name}:missing=true&_count=0`)).status, 200, name)
  assert.ok(described.interaction.some((one: any) => one.code === 'search-type'))
  assert.ok(described.searchInclude.includes('Patient:organization'))
  assert.ok(described.searchRevInclude.includes('Observation:subject'))
})

test('a page link that is longer than a URL may be is followed with its query as a body', async () => {
  const names = ['Fp', ...Array.from({ length: 20 }, (_, at) => `${at}${'x'.repeat(500)}`)].join(',')
  const search = async (payload: string) => {
    const type = 'application/x-www-form-urlencoded'
    const answer = await server.inject({
      method: 'POST',
      url: '/Patient/_search',
      headers: { 'content-type': type },
      payload,
    })
    assert.is(answer.statusCode, 200, answer.body)
    return answer.json() as { entry: { resource: { id: string } }[]; link: { relation: string; url: string }[] }
  }
  const found: string[] = []
  let query: string | undefined = `name=${encodeURIComponent(names)}&_count=10`
  while (query !== undefined) {
    const { entry, link } = await search(query)
    found.push(...entry.map(({ resource }) => resource.id))
    const next: string | undefined = link.find(({ relation }) => relation === 'next')?.url
    if (next !== undefined) assert.ok(next.length > 8_192)
    query = next?.slice(next.indexOf('?') + 1)
  }
  assert.is(new Set(found).size, 25)
  assert.is(found.length, 25)
})

test.run()
