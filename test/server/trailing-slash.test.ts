/** A slash at the end of an address says nothing. */
// database: sqlite, because addresses are read before anything is asked of the database
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import audit from '../../plugins/audit/index.ts'
import metering from '../../plugins/metering/index.ts'
import { basic, serverWith, type TestServer } from '../support/server-with.ts'

type Json = Record<string, any>

const JSON_TYPE = { 'content-type': 'application/fhir+json' }
const patient = (id: string): string => JSON.stringify({ resourceType: 'Patient', id })

let server: TestServer
test.before(async () => {
  server = await serverWith({ plugins: basic, settings: { conformance: { update_as_create: true } } })
  const answer = await server.inject({ method: 'PUT', url: '/Patient/p', headers: JSON_TYPE, payload: patient('p') })
  assert.is(answer.statusCode, 201)
})
test.after(() => server.stop())

/** What differs between any two answers left out. */
const bodyOf = (text: string): Json => {
  const { id, meta, date, ...rest } = JSON.parse(text) as Json
  return rest
}

for (const path of [
  '/Patient',
  '/Patient?_count=1',
  '/Patient/p',
  '/Patient/p?_summary=true',
  '/Patient/p/_history',
  '/Patient/p/_history/1',
  '/Patient/_history',
  '/_history',
  '/metadata',
  '/Patient/p/$meta',
  '/Patient/p/Observation',
  '/Patient/missing',
  '/Nothing',
])
  test(`GET ${path} answers the same with a slash behind its path`, async () => {
    const [given, slashed] = [await server.inject(path), await server.inject(path.replace(/(?=\?|$)/, '/'))]
    assert.is(slashed.statusCode, given.statusCode)
    assert.equal(bodyOf(slashed.body), bodyOf(given.body))
  })

test('changes take it as well, and answer with addresses that have none', async () => {
  const made = await server.inject({ method: 'POST', url: '/Patient/', headers: JSON_TYPE, payload: patient('x') })
  assert.is(made.statusCode, 201)
  assert.match(made.headers.location as string, /\/Patient\/[^/]+\/_history\/1$/)
  const put = await server.inject({ method: 'PUT', url: '/Patient/q/', headers: JSON_TYPE, payload: patient('q') })
  assert.is(put.statusCode, 201)
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const found = await server.inject({ method: 'POST', url: '/Patient/_search/', headers: form, payload: '_id=q' })
  assert.is(found.json().entry.length, 1)
  assert.is((await server.inject({ method: 'DELETE', url: '/Patient/q/' })).statusCode, 204)
  const refused = await server.inject({ method: 'DELETE', url: '/metadata/' })
  assert.is(refused.statusCode, 405)
  assert.is(refused.headers.allow, 'GET, HEAD')
})

test('entries of a Bundle take it, and two slashes stay no address', async () => {
  const entry = ['Patient/', 'Patient/p/', 'Patient/p/_history/', 'Patient//'].map((url) => ({
    request: { method: 'GET', url },
  }))
  const payload = JSON.stringify({ resourceType: 'Bundle', type: 'batch', entry })
  const answer = await server.inject({ method: 'POST', url: '/', headers: JSON_TYPE, payload })
  assert.equal(
    answer.json().entry.map(({ response }: Json) => response.status.slice(0, 3)),
    ['200', '200', '200', '400'],
  )
  assert.is((await server.inject('/Patient//')).statusCode, 404)
})

test('addresses beside the FHIR interface take it, and refuse other methods with 405', async () => {
  const all = await serverWith({
    plugins: [...basic, audit, metering],
    settings: { audit: { enabled: true, key: 'a key of the chain for tests' } },
  })
  for (const path of ['/_audit', '/_audit/verify', '/_usage', '/livez', '/readyz', '/healthz', '/metadata'])
    for (const url of [path, `${path}/`]) {
      assert.is((await all.inject(url)).statusCode, 200, url)
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const) {
        const refused = await all.inject({ method, url, headers: JSON_TYPE, payload: patient('x') })
        assert.is(refused.statusCode, 405, `${method} ${url}`)
        assert.is(refused.headers.allow, 'GET, HEAD')
      }
    }
  const page = (await all.inject('/_audit/?_count=1')).json()
  assert.is(page.entry.length, 1)
  const next = page.link.find(({ relation }: Json) => relation === 'next').url
  assert.is((await all.inject(next.slice(next.indexOf('/_audit')))).json().entry.length, 1)
  await all.stop()
})

test.run()
