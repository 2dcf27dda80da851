/** Searches that are wrong, hostile or too large: refused by name, quickly, and harmless. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, type Clock, definePlugin, systemClock } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { Database, sql } from '../../../plugins/database/service.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { named } from '../../support/named-callers.ts'
import { assertRefused, assertServes, type Expected } from '../../support/refused.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { until } from '../../support/until.ts'

const VALUE: Expected = { status: 400, code: 'value' }
const COSTLY: Expected = { status: 400, code: 'too-costly' }
const UNSUPPORTED: Expected = { status: 400, code: 'not-supported' }
const QUICK_MS = 2_000 // a busy machine takes twice the second that is allowed
const SEARCH_MS = 30_000 // the deadline of a search
const DAY_MS = 86_400_000
const headers = { 'content-type': 'application/fhir+json' }

/** Queries of the lane are counted, and may be held until their signal aborts. */
const lane = { asked: 0, holds: false, held: 0, aborted: 0 }
const watched: AnyPlugin = definePlugin({
  ...(database as AnyPlugin),
  setup: (host) =>
    database.setup({
      ...(host as Parameters<typeof database.setup>[0]),
      provide(service, instance) {
        const inner = instance as unknown as Database
        const longQuery: Database['longQuery'] = (statement, params, signal) => {
          lane.asked += 1
          if (!lane.holds) return inner.longQuery(statement, params, signal)
          lane.held += 1
          return new Promise((_resolve, reject) => {
            const end = (): void => {
              lane.aborted += 1
              reject(new Error('aborted'))
            }
            if (signal?.aborted === true) end()
            else signal?.addEventListener('abort', end)
          })
        }
        host.provide(service, (service as unknown) === Database ? ({ ...inner, longQuery } as never) : instance)
      },
    }),
})

let now = Date.now()
let deadlines: AbortController[] | undefined
const clock: Clock = {
  ...systemClock,
  now: () => now,
  deadline(ms) {
    if (ms !== SEARCH_MS || deadlines === undefined) return systemClock.deadline(ms)
    const controller = new AbortController()
    deadlines.push(controller)
    return controller.signal
  },
}

let server: TestServer
let base = ''
const put = async (resource: Record<string, unknown>): Promise<void> => {
  const url = `/${resource.resourceType}/${resource.id}`
  const answer = await server.inject({ method: 'PUT', url, headers, payload: JSON.stringify(resource) })
  assert.ok(answer.statusCode < 300, answer.body)
}
test.before(async () => {
  server = await serverWith({
    plugins: [watched, searchDefinitions(), named, ...fhirPlugins],
    settings: { conformance: { update_as_create: true }, server: { bind: '127.0.0.1:0' } },
    clock,
  })
  base = await server.listen()
  await put({ resourceType: 'Organization', id: 'o1', name: 'One', partOf: { reference: 'Organization/o2' } })
  await put({ resourceType: 'Organization', id: 'o2', name: 'Two', partOf: { reference: 'Organization/o3' } })
  await put({ resourceType: 'Organization', id: 'o3', name: 'Three', partOf: { reference: 'Organization/o1' } })
  const names = [
    '50% off',
    'a_b',
    'back\\slash',
    'plain',
    'Straße',
    'İstanbul',
    'Ce\u0301cile',
    '\u200fشريف',
    '👩‍⚕️ Emoji',
    'axb',
  ]
  for (const [at, family] of names.entries())
    await put({
      resourceType: 'Patient',
      id: `p${at}`,
      name: [{ family }],
      gender: 'male',
      birthDate: '1970-01-01',
      managingOrganization: { reference: 'Organization/o1' },
    })
})
test.after(() => server.stop())

const get = (url: string) => server.inject(url)
const refused = async (url: string, expected: Expected): Promise<string> => {
  const started = performance.now()
  const said = assertRefused(await get(url), expected, url.slice(0, 100))
  assert.ok(performance.now() - started < QUICK_MS, `${url.slice(0, 100)} took ${performance.now() - started} ms`)
  return said
}
const ids = async (url: string): Promise<string[]> => {
  const answer = await get(url)
  assert.is(answer.statusCode, 200, `${url} ${answer.body}`)
  return (answer.json().entry ?? [])
    .filter((entry: any) => entry.search.mode === 'match')
    .map((entry: any) => entry.resource.id)
    .sort()
}
const query = (name: string, value: string): string =>
  `/Patient?${encodeURIComponent(name)}=${encodeURIComponent(value)}`
const tables = async (): Promise<string> => {
  const text =
    chosenKind.name === 'postgres'
      ? "SELECT table_name AS name FROM information_schema.columns WHERE table_schema = 'public' ORDER BY table_name, column_name"
      : 'SELECT name, sql FROM sqlite_schema ORDER BY name'
  return JSON.stringify(await server.get(Database).all(sql('test.schema', text), []))
}

test('SQL in a value, a name, a modifier, a sort key or a list of elements is text (row 47)', async () => {
  const before = await tables()
  const attacks = [
    "' OR 1=1--",
    '1;DROP TABLE resource',
    'a);DELETE FROM ix_str;--',
    '") OR ("1"="1',
    "'",
    '"',
    '`',
    ';',
    '/*',
    "x' UNION ALL--",
    '$1',
    '?',
  ]
  for (const attack of attacks)
    for (const [name, value] of [
      ['name', attack],
      ['name:exact', attack],
      ['name:contains', attack],
      ['_id', attack],
      ['identifier', attack],
      ['gender', attack],
      ['organization', attack],
      ['birthdate', attack],
      ['_lastUpdated', attack],
      ['_sort', attack],
      ['_elements', attack],
      ['_include', attack],
      ['_revinclude', attack],
      ['_summary', attack],
      ['_total', attack],
      ['_count', attack],
      ['_page', attack],
      [attack, 'x'],
      [`name:${attack}`, 'x'],
      [`organization.${attack}`, 'x'],
      [`_has:Patient:organization:${attack}`, 'x'],
    ] as const) {
      const answer = await get(query(name, value))
      const about = `${name}=${value}: ${answer.statusCode} ${answer.body.slice(0, 200)}`
      if (answer.statusCode === 200)
        assert.equal(answer.json().entry?.filter((one: any) => one.search.mode === 'match') ?? [], [], about)
      else
        assertRefused(answer, { status: [400, 404], code: ['value', 'not-supported', 'not-found', 'invalid'] }, about)
    }
  assert.is(await tables(), before)
  assert.is((await ids('/Patient')).length, 10)
  await assertServes(server, 'row 47')
})

test('percent, underscore and backslash are characters, not wildcards (row 48)', async () => {
  for (const [value, found] of [
    ['50%', ['p0']],
    ['%', []],
    ['a_', ['p1']],
    ['_', []],
    ['back\\\\', ['p2']],
    ['a%b', []],
  ] as const)
    assert.equal(await ids(query('family', value)), found, value)
  assert.equal(await ids(query('family:contains', '%')), ['p0'])
  assert.equal(await ids(query('family:contains', '_')), ['p1'])
  assert.equal(await ids(query('family:contains', '\\\\')), ['p2'])
  assert.equal(await ids(query('family:exact', 'a_b')), ['p1'])
})

test('an unknown parameter is refused, or ignored and absent from the self link when lenient (row 49)', async () => {
  assert.match(await refused('/Patient?colour=blue', UNSUPPORTED), /colour.*gender/)
  const answer = await server.inject({
    url: '/Patient?colour=blue&gender=male',
    headers: { prefer: 'handling=lenient' },
  })
  const { link, entry } = answer.json()
  assert.is(answer.statusCode, 200)
  assert.not.match(link[0].url, 'colour')
  assert.match(link[0].url, 'gender=male')
  assert.match(JSON.stringify(entry.at(-1)), /colour.*ignored/)
})

test('_count is capped, counts only, or is a number (row 50)', async () => {
  const capped = (await get('/Patient?_count=999999999')).json()
  assert.match(capped.link[0].url, '_count=1000')
  for (const value of ['-1', 'abc', '1e3', '1.5', ' ', '0x10', '9999999999'])
    await refused(query('_count', value), VALUE)
  const counted = (await get('/Patient?gender=male&_count=0')).json()
  assert.is(counted.total, 10)
  assert.is(counted.entry, undefined)
})

test('a page link that was changed, is of another search, or is old is refused as that (row 51)', async () => {
  const first = (await get('/Patient?_count=3')).json()
  const next: string = first.link.find((one: any) => one.relation === 'next').url.slice('http://localhost:80'.length)
  assert.is((await get(next)).statusCode, 200)
  const at = next.indexOf('_page=') + '_page='.length
  for (let place = at; place < next.length; place += 5) {
    const changed = `${next.slice(0, place)}${next[place] === 'A' ? 'B' : 'A'}${next.slice(place + 1)}`
    await refused(changed, VALUE)
  }
  for (const page of ['', 'x', '%00', '..', next.slice(at, -1), `${next.slice(at)}A`])
    await refused(`${next.slice(0, at)}${page}`, VALUE)
  await refused(next.replace('_count=3', '_count=4'), VALUE)
  await refused(next.replace('/Patient', '/Organization'), VALUE)
  const asOther = { url: next, headers: { 'x-test-client': 'another' } }
  assertRefused(await server.inject(asOther), { status: 404, code: 'not-found' }, 'of another caller')
  now += DAY_MS + 60_000
  assertRefused(await get(next), { status: 410, code: 'expired' }, 'a day later')
  await assertServes(server, 'row 51')
})

test('includes are bounded, each resource comes once, a circle ends (row 52)', async () => {
  const many = Array.from({ length: 50 }, () => '_include=*').join('&')
  for (const url of [
    `/Patient?${many}&_revinclude=*`,
    '/Organization?_id=o1&_include:iterate=Organization:partof&_revinclude:iterate=Organization:partof',
    '/Organization?_include:iterate=*&_revinclude:iterate=*',
  ]) {
    const started = performance.now()
    const answer = await get(url)
    assert.is(answer.statusCode, 200, answer.body)
    assert.ok(performance.now() - started < QUICK_MS, url)
    const found = answer.json().entry.map((entry: any) => entry.fullUrl)
    assert.is(new Set(found).size, found.length, url)
  }
  const circle = (await get('/Organization?_id=o1&_include:iterate=Organization:partof')).json()
  assert.is(circle.entry.length, 3)
})

test('chains, _has, values and parameters have a limit (row 53)', async () => {
  const chain = `organization.${'partof.'.repeat(20)}name`
  await refused(query(chain, 'x'), COSTLY)
  await refused(`/Patient?${Array.from({ length: 20 }, () => '_has:Observation:patient:code=x').join('&')}`, COSTLY)
  await refused(
    query(`${'_has:Organization:partof:'.repeat(20)}name`, 'x').replace('/Patient', '/Organization'),
    COSTLY,
  )
  const values = Array.from({ length: 10_000 }, (_, at) => at).join(',')
  const form = {
    method: 'POST',
    url: '/Patient/_search',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  } as const
  assertRefused(await server.inject({ ...form, payload: `identifier=${values}` }), COSTLY, 'values')
  const several = Array.from({ length: 1_000 }, (_, at) => `name=${at}`).join('&')
  assertRefused(await server.inject({ ...form, payload: several }), COSTLY, 'parameters')
  await assertServes(server, 'row 53')
})

test('dates, prefixes and quantities that are none (row 54)', async () => {
  for (const value of ['gt', 'zz2020', '2024-02-30', '2024-13', '24', 'gt2024-02-30', '2024-01-01T25:00', 'T10', 'ap'])
    await refused(query('birthdate', value), VALUE)
  for (const value of ['1e999', '5|a|b|c', 'abc', 'gt', '--1', '1e', '0x10', 'gtabc|s|c'])
    await refused(query('value-quantity', value).replace('/Patient', '/Observation'), VALUE)
})

test('special parameters that are not supported are never ignored (row 55)', async () => {
  for (const name of ['_query', '_filter', '_text', '_content']) {
    const answer = await get(query(name, '((('))
    assertRefused(answer, { status: 400, code: ['not-supported', 'value', 'invalid'] }, name)
  }
})

test('long values, and patterns that take for ever elsewhere, keep nobody waiting (row 56)', async () => {
  const evil = [
    `${'a'.repeat(50_000)}!`,
    `${'('.repeat(25_000)}${')'.repeat(25_000)}`,
    `${'a|'.repeat(20_000)}`,
    `${'\\'.repeat(49_999)}`,
    `${'1'.repeat(50_000)}`,
    `${'a,'.repeat(20_000)}`,
  ]
  const lag = monitorEventLoopDelay({ resolution: 10 })
  lag.enable()
  for (const value of evil)
    for (const [type, name] of [
      ['Patient', 'name'],
      ['Patient', 'name:contains'],
      ['Patient', 'name:exact'],
      ['Patient', 'identifier'],
      ['Patient', 'identifier:of-type'],
      ['Patient', 'gender:text'],
      ['Patient', 'birthdate'],
      ['Patient', 'organization'],
      ['Patient', 'organization:identifier'],
      ['Patient', '_profile'],
      ['Patient', '_profile:below'],
      ['Patient', '_profile:above'],
      ['Patient', '_id'],
      ['Patient', '_lastUpdated'],
      ['Observation', 'value-quantity'],
      ['Observation', 'code-value-quantity'],
    ] as const) {
      const started = performance.now()
      const answer = await server.inject({
        method: 'POST',
        url: `/${type}/_search`,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: `${name}=${encodeURIComponent(value)}`,
      })
      assert.ok([200, 400].includes(answer.statusCode), `${name} ${answer.statusCode} ${answer.body.slice(0, 200)}`)
      assert.ok(performance.now() - started < QUICK_MS, `${name} took ${performance.now() - started} ms`)
      if (answer.statusCode === 400) assert.ok(answer.body.length < 3_000, `${name} repeats what it was sent`)
    }
  lag.disable()
  // 200 ms on a machine of its own.
  assert.ok(lag.max / 1e6 < 1_000, `the event loop stood still for ${lag.max / 1e6} ms`)
  await assertServes(server, 'row 56')
})

test('a posted search is merged with its query; another body is not read (row 57)', async () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const merged = await server.inject({
    method: 'POST',
    url: '/Patient/_search?gender=male',
    headers: form,
    payload: 'family=plain',
  })
  assert.is(merged.json().entry.length, 1)
  const none = await server.inject({
    method: 'POST',
    url: '/Patient/_search?gender=female',
    headers: form,
    payload: 'family=plain',
  })
  assert.is(none.json().entry, undefined)
  const json = await server.inject({ method: 'POST', url: '/Patient/_search', headers, payload: '{"family":"plain"}' })
  assertRefused(json, { status: 415, code: 'not-supported' }, 'JSON')
})

test('text is compared without case, accents and invisible marks, whatever its form (row 58)', async () => {
  for (const [value, found] of [
    ['strasse', 'p4'],
    ['STRASSE', 'p4'],
    ['straße', 'p4'],
    ['istanbul', 'p5'],
    ['ISTANBUL', 'p5'],
    ['ıstanbul', 'p5'],
    ['C\u00e9cile', 'p6'],
    ['cecile', 'p6'],
    ['Ce\u0301cile', 'p6'],
    ['شريف', 'p7'],
    ['\u200fشريف', 'p7'],
    ['👩‍⚕️', 'p8'],
  ] as const)
    assert.equal(await ids(query('family', value)), [found], value)
  const started = performance.now()
  const marks = `a${'\u0301'.repeat(2_048)}`
  await put({ resourceType: 'Patient', id: 'marks', name: [{ family: marks }] })
  const posted = await server.inject({
    method: 'POST',
    url: '/Patient/_search',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: `family=${encodeURIComponent(marks)}`,
  })
  assert.match(posted.body, '"id":"marks"')
  assert.is((await server.inject({ method: 'DELETE', url: '/Patient/marks' })).statusCode, 204)
  assert.ok(performance.now() - started < QUICK_MS)
  await assertServes(server, 'row 58')
})

test('a search that may be slow runs beside the main thread, and one that is quick does not', async () => {
  lane.asked = 0
  await ids('/Patient?family=plain&gender=male')
  assert.is(lane.asked, 0)
  await ids('/Patient?_sort=family')
  assert.ok(lane.asked > 0)
})

test('past its deadline a search is 400 too-costly', async () => {
  deadlines = []
  lane.holds = true
  const answer = get('/Patient?_sort=family')
  await until(() => lane.held === 1, 5_000, 'the search in the lane')
  for (const controller of deadlines) controller.abort()
  assert.match(assertRefused(await answer, COSTLY, 'deadline'), /given up after 30 s/)
  lane.holds = false
  deadlines = undefined
  assert.is((await get('/Patient?_sort=family')).statusCode, 200)
})

test('a search is stopped when its client goes away', async () => {
  Object.assign(lane, { holds: true, held: 0, aborted: 0 })
  const leaving = new AbortController()
  const answer = fetch(`${base}/Patient?_sort=family`, { signal: leaving.signal }).catch((error) => error.name)
  await until(() => lane.held === 1, 5_000, 'the search in the lane')
  leaving.abort()
  assert.is(await answer, 'AbortError')
  await until(() => lane.aborted === 1, 5_000, 'the end of the search')
  lane.holds = false
  assert.is((await get('/Patient?_sort=family')).statusCode, 200)
})

test.run()
