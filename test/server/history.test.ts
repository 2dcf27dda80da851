/** history of an instance, a type and the server. https://hl7.org/fhir/R4/http.html#history */
// npm test: sqlite and postgres, whose statements differ
// memory: long reads have no thread of their own there
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { systemClock } from '../../kernel/index.ts'
import { serverWith, type TestServer } from '../support/server-with.ts'

interface HistoryBundle {
  readonly type: string
  readonly total?: number
  readonly link: { relation: string; url: string }[]
  readonly entry?: {
    fullUrl: string
    resource?: { id: string; meta: { versionId: string } }
    request: { method: string; url: string }
    response: { status: string; etag: string; lastModified: string }
  }[]
}

// A clock that moves a second with every change: `_since` and `_at` need moments to tell apart.
let now = Date.parse('2024-01-01T00:00:00Z')
const clock = { ...systemClock, now: () => now }
let server: TestServer
test.before(async () => {
  server = await serverWith({ clock, settings: { conformance: { update_as_create: true } } })
})
test.after(() => server.stop())

const put = async (type: string, id: string, rest: object = {}): Promise<void> => {
  now += 1000
  const payload = JSON.stringify({ resourceType: type, id, ...rest })
  const answer = await server.inject({
    method: 'PUT',
    url: `/${type}/${id}`,
    headers: { 'content-type': 'application/fhir+json' },
    payload,
  })
  assert.ok(answer.statusCode < 300, answer.body)
}
const remove = async (type: string, id: string): Promise<void> => {
  now += 1000
  await server.inject({ method: 'DELETE', url: `/${type}/${id}` })
}
const get = async (url: string): Promise<HistoryBundle> => (await server.inject(url)).json() as HistoryBundle
const keys = ({ entry = [] }: HistoryBundle): string[] =>
  entry.map(({ fullUrl, response }) => `${fullUrl.split('/').slice(-2).join('/')} ${response.etag}`)
const pathOf = (url: string): string => url.replace(/^https?:\/\/[^/]+/, '')
const follow = async (first: string): Promise<HistoryBundle[]> => {
  const pages: HistoryBundle[] = []
  for (let url: string | undefined = first; url !== undefined; ) {
    const page: HistoryBundle = await get(url)
    pages.push(page)
    const next = page.link.find(({ relation }) => relation === 'next')?.url
    url = next === undefined ? undefined : pathOf(next)
  }
  return pages
}

test('the history of an instance has every version, newest first, deletions too', async () => {
  await put('Patient', 'a', { active: true })
  await put('Patient', 'a', { active: false })
  await remove('Patient', 'a')
  await put('Patient', 'a', { active: true })
  const bundle = await get('/Patient/a/_history')
  assert.is(bundle.type, 'history')
  assert.is(bundle.total, 4)
  assert.equal(keys(bundle), ['Patient/a W/"4"', 'Patient/a W/"3"', 'Patient/a W/"2"', 'Patient/a W/"1"'])
  assert.equal(
    bundle.entry?.map(({ request, resource }) => [request.method, resource === undefined]),
    [
      ['PUT', false],
      ['DELETE', true],
      ['PUT', false],
      ['PUT', false],
    ],
  )
  assert.is(bundle.entry?.[3]?.resource?.meta.versionId, '1')
})

test('pages go on where the last one ended although others write in between', async () => {
  for (let n = 0; n < 7; n += 1) await put('Practitioner', `p${n}`)
  const first = await get('/Practitioner/_history?_count=3')
  await put('Practitioner', 'p3', { active: true })
  await put('Practitioner', 'late')
  const next = pathOf(first.link.find(({ relation }) => relation === 'next')?.url ?? '')
  const rest = await follow(next)
  const all = [first, ...rest].flatMap(keys)
  assert.equal(
    all,
    [6, 5, 4, 3, 2, 1, 0].map((n) => `Practitioner/p${n} W/"1"`),
  )
})

test('the history of the server mixes all types in the order of change', async () => {
  await put('Organization', 'o1')
  await put('Patient', 'z')
  await put('Organization', 'o1', { active: true })
  const bundle = await get('/_history?_count=3')
  assert.equal(keys(bundle), ['Organization/o1 W/"2"', 'Patient/z W/"1"', 'Organization/o1 W/"1"'])
  const pages = await follow('/_history?_count=4')
  const all = pages.flatMap(keys)
  assert.is(new Set(all).size, all.length)
  assert.ok(pages.slice(0, -1).every(({ entry }) => entry?.length === 4))
})

test('_since leaves out what is older', async () => {
  await put('Encounter', 'e1')
  now += 60_000
  const since = new Date(now).toISOString()
  await put('Encounter', 'e2')
  assert.equal(keys(await get(`/Encounter/_history?_since=${since}`)), ['Encounter/e2 W/"1"'])
  assert.equal(keys(await get(`/Encounter/e1/_history?_since=${since}`)), [])
})

test('_at gives the versions that were current at that time', async () => {
  await put('Basic', 'b1')
  await put('Basic', 'b2')
  now += 3_600_000
  const moment = new Date(now).toISOString()
  now += 3_600_000
  await put('Basic', 'b1', { language: 'en' })
  await remove('Basic', 'b2')
  await put('Basic', 'b3')
  assert.equal(keys(await get(`/Basic/_history?_at=${moment}`)), ['Basic/b2 W/"1"', 'Basic/b1 W/"1"'])
  assert.equal(keys(await get(`/Basic/b1/_history?_at=${moment}`)), ['Basic/b1 W/"1"'])
  const year = keys(await get('/Basic/_history?_at=2024'))
  assert.is(year.length, 5)
})

test('nothing has happened since a moment to come', async () => {
  for (const scope of ['/Patient/a', '/Patient', ''])
    for (const since of ['9999-01-01', '2999-12-31T23:59:59Z']) {
      const bundle = await get(`${scope}/_history?_since=${since}`)
      assert.equal(keys(bundle), [])
      assert.equal(
        bundle.link.map(({ relation }: { relation: string }) => relation),
        ['self'],
      )
    }
  assert.is((await server.inject('/Patient/never/_history?_since=9999-01-01')).statusCode, 404)
})

test('what never was has no history, and bad parameters are refused', async () => {
  assert.is((await server.inject('/Patient/never/_history')).statusCode, 404)
  for (const query of [
    '_count=-1',
    '_count=abc',
    '_count=1e3',
    '_since=2024-02-30',
    '_at=9999-01-01',
    '_at=',
    '_page=x',
    '_bogus=1',
  ]) {
    const answer = await server.inject(`/Patient/a/_history?${query}`)
    assert.is(answer.statusCode, 400, query)
  }
  assert.is((await server.inject('/Patient/a/_history?_count=999999999')).statusCode, 200)
})

test.run()
