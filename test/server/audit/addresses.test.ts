/** Events at the address of their type: what /_audit calls their fullUrl is there, under the same scope. */
// database: sqlite, because the search of the trail has its tests on each database in audit/search.test.ts
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { defineError, definePlugin } from '../../../kernel/index.ts'
import audit from '../../../plugins/audit/index.ts'
import { Resources } from '../../../plugins/fhir/service.ts'
import sync from '../../../plugins/sync/index.ts'
import { assertRefused } from '../../support/refused.ts'
import { onlyTypes } from '../../support/restrictions.ts'
import { basic, serverWith, type TestServer } from '../../support/server-with.ts'
import { openSync } from '../../support/sync-client.ts'
import { refusedWith } from '../sessions/callers.ts'

type Json = Record<string, any>

const Forbidden = defineError('test/forbidden', 403, 'forbidden', 'This is not shown to you.')

/** Callers named "nobody" may see nothing of the trail, those named "some" a part of the data. */
const guard = definePlugin({
  name: 'guard',
  setup({ hooks }) {
    hooks.authenticate.tap('by header', ({ headers }) => {
      const client = headers['x-test-client']
      return typeof client === 'string' ? { kind: 'client', client } : undefined
    })
    hooks.authorize.tap('by name', ({ caller }, { kind, type }, ruling) => {
      if (kind !== 'admin' || type !== 'AuditEvent') return
      if (caller.client === 'nobody') throw Forbidden()
      if (caller.client === 'some') ruling.restrict(onlyTypes('Patient'))
    })
  },
})

let server: TestServer
let base = ''
test.before(async () => {
  server = await serverWith({ plugins: [...basic, audit, sync, guard], settings: { server: { bind: '127.0.0.1:0' } } })
  base = await server.listen()
})
test.after(() => server.stop())

const headers = { 'content-type': 'application/fhir+json' }
const get = async (url: string, more: Record<string, string> = {}) => {
  const answer = await fetch(url, { headers: more })
  return { status: answer.status, type: answer.headers.get('content-type'), json: (await answer.json()) as Json }
}

test('the fullUrl of every entry of /_audit leads to the same event', async () => {
  for (let n = 0; n < 3; n += 1)
    await server.inject({ method: 'POST', url: '/Patient', headers, payload: '{"resourceType":"Patient"}' })
  const { entry } = (await get(`${base}/_audit`)).json
  assert.ok(entry.length >= 4)
  for (const { fullUrl, resource } of entry) {
    const found = await get(fullUrl)
    assert.is(found.status, 200, fullUrl)
    assert.is(found.type, 'application/fhir+json; charset=utf-8')
    assert.equal(found.json, resource)
  }
  assert.is((await fetch(entry[0].fullUrl, { method: 'HEAD' })).status, 200)
})

test('a search of AuditEvent is a search of the trail', async () => {
  await server.inject({ method: 'POST', url: '/Patient', headers, payload: '{"resourceType":"Patient"}' })
  const of = async (path: string): Promise<Json> => (await get(`${base}/${path}?subtype=create&_count=2`)).json
  const found = await of('AuditEvent')
  assert.equal(found.entry, (await of('_audit')).entry)
  assert.match(found.link[1].url, `${base}/AuditEvent?`)
  assert.is((await get(found.link[1].url)).status, 200)
})

test('it asks for what /_audit asks for', async () => {
  for (const path of ['_audit', 'AuditEvent', 'AuditEvent/1']) {
    for (const client of ['some', 'nobody'])
      assert.is((await get(`${base}/${path}`, { 'x-test-client': client })).status, 403, `${client} ${path}`)
    assert.is((await get(`${base}/${path}`, { 'x-test-client': 'all' })).status, 200, path)
  }
})

test('to read an event is an event itself', async () => {
  const newest = async (): Promise<Json> => (await get(`${base}/_audit?_count=1`)).json.entry[0].resource
  const before = Number((await newest()).id)
  assert.is((await get(`${base}/AuditEvent/1`)).status, 200)
  const told = (await get(`${base}/AuditEvent/${before + 2}`)).json
  assert.is(told.resourceType, 'AuditEvent', JSON.stringify(told))
  assert.equal(told.subtype, (await newest()).subtype)
})

test('an event that is not there, and a parameter it does not take, are refused', async () => {
  const missing = await server.inject('/AuditEvent/999999999')
  assertRefused(missing, { status: 404, code: 'not-found' }, 'not there')
  assertRefused(await server.inject('/AuditEvent/1?_elements=id'), { status: 400, code: 'not-supported' }, '_elements')
  assert.is((await server.inject('/AuditEvent/not-a-number')).statusCode, 404)
})

test('nobody changes events there', async () => {
  for (const [method, url] of [
    ['PUT', '/AuditEvent/1'],
    ['DELETE', '/AuditEvent/1'],
    ['POST', '/AuditEvent'],
  ] as const) {
    const answer = await server.inject({ method, url, headers, payload: '{"resourceType":"AuditEvent","id":"1"}' })
    assert.is(answer.statusCode, 405, `${method} ${url}`)
    assert.is(answer.headers.allow, 'GET, HEAD')
  }
})

test('nothing that looks among the stored resources answers that no event happened', async () => {
  const created = await server.inject({
    method: 'POST',
    url: '/Patient',
    headers,
    payload: '{"resourceType":"Patient"}',
  })
  const id = created.json().id as string
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  for (const [method, url, more, payload] of [
    ['GET', '/?_type=AuditEvent'],
    ['GET', '/?_type=Patient,AuditEvent'],
    ['POST', '/_search', form, '_type=AuditEvent'],
    ['POST', '/AuditEvent/_search', form, ''],
    ['GET', `/Patient/${id}/AuditEvent`],
    ['GET', '/AuditEvent/_history'],
    ['GET', '/AuditEvent/1/_history'],
    ['GET', '/AuditEvent/1/_history/1'],
    ['GET', '/AuditEvent/1/$meta'],
    ['GET', `/Patient?_id=${id}&_revinclude=AuditEvent:entity`],
    ['GET', `/Patient?_id=${id}&_revinclude:iterate=AuditEvent:entity`],
    ['GET', '/Patient?_has:AuditEvent:entity:action=R'],
  ] as const) {
    const answer = await server.inject({
      method,
      url,
      headers: more ?? {},
      ...(payload === undefined ? {} : { payload }),
    })
    assertRefused(answer, { status: 400, code: 'not-supported' }, `${method} ${url}`)
    assert.match(answer.json().issue[0].diagnostics, /GET \/_audit/)
  }
  for (const type of ['batch', 'transaction'])
    for (const url of [
      'AuditEvent',
      'AuditEvent?_summary=count',
      'AuditEvent/1',
      '?_type=AuditEvent',
      `Patient/${id}/AuditEvent`,
    ]) {
      const bundle = { resourceType: 'Bundle', type, entry: [{ request: { method: 'GET', url } }] }
      const answer = await server.inject({ method: 'POST', url: '/', headers, payload: JSON.stringify(bundle) })
      if (type === 'batch')
        assert.is(answer.json().entry[0].response.status, '400 Bad Request', `${url} ${answer.body}`)
      else assertRefused(answer, { status: 400, code: 'not-supported' }, url)
      assert.match(answer.body, /GET \/_audit/)
    }
})

test('live queries and sessions of plugins that look for stored events are refused too', async () => {
  const client = await openSync(base)
  const session = server.get(Resources).as({ kind: 'internal', purpose: 'test' })
  for (const [type, query] of [
    ['AuditEvent', ''],
    ['AuditEvent', 'action=R'],
    ['Patient', '_has:AuditEvent:entity:action=R'],
  ] as const) {
    const { op, outcome } = await client.subscribe(`${type}?${query}`, `${type}?${query}`)
    assert.equal([op, outcome?.issue[0].code], ['error', 'not-supported'])
    assert.is(await refusedWith(() => session.matches(type, query)), '400 fhir/read-elsewhere')
    assert.is(await refusedWith(() => session.search(type, query)), '400 fhir/read-elsewhere')
    assert.is(
      await refusedWith(() => session.stream(type, query)[Symbol.asyncIterator]().next()),
      '400 fhir/read-elsewhere',
    )
  }
  await client.close()
})

test('searches of other types, and the statement of what is supported, say what is there', async () => {
  assert.is((await server.inject('/?_type=Patient')).statusCode, 200)
  assert.is((await server.inject('/Patient?_content=AuditEvent')).statusCode, 200)
  const { resource } = (await server.inject('/metadata')).json().rest[0]
  const codes = resource.find(({ type }: Json) => type === 'AuditEvent').interaction.map(({ code }: Json) => code)
  assert.equal(codes, ['read', 'search-type'])
})

test.run()
