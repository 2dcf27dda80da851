/** An entry of a Bundle that is refused before it is known which interaction it asks for leaves an event. */
// database: sqlite, because an entry is refused before anything is asked of the database; audit/facts.test.ts is on each
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { TestServer } from '../../support/server-with.ts'
import { type AuditEvent, audited, eventsOf, happened, lineOf, send } from './audited.ts'

const bundle = (type: string, entry: readonly object[]) => ({ resourceType: 'Bundle', type, entry })
const get = (url: string) => ({ request: { method: 'GET', url } })
const post = (url: string, resource: object) => ({ resource, request: { method: 'POST', url } })

/** Each with the status of its answer and its line in the trail. */
const REFUSED: readonly (readonly [entry: object, status: string, line: string])[] = [
  [post('Nope', { resourceType: 'Nope' }), '404', 'request → 4'],
  [get('Nope/1'), '404', 'request Nope/1 → 4'],
  [get('_audit'), '404', 'request → 4'],
  [get(''), '400', 'request → 4'],
  [{}, '400', 'request → 4'],
  [{ request: { method: 'FOO', url: 'Patient/x' } }, '400', 'request Patient/x → 4'],
  [{ request: { method: 'PUT', url: 'Patient/p1' } }, '400', 'request Patient/p1 → 4'],
  [{ request: { method: 'POST', url: 'Patient/p1' } }, '405', 'request Patient/p1 → 4'],
  [get('http://else.where/Patient/p1'), '400', 'request → 4'],
  [get('Patient/$nothing'), '404', 'request → 4'],
]

/** One for all tests; each looks at the events behind those that were there before. */
let server: TestServer
test.before(async () => {
  server = await audited({
    settings: { audit: { unattributed_per_second: 0 }, conformance: { update_as_create: true } },
  })
})
test.after(() => server.stop())
let lines = 0
let refusals = 0
test.before.each(async () => {
  lines = (await happened(server)).length
  refusals = (await eventsOf(server, 'outcome=4')).length
})
const happenedSince = async (): Promise<readonly string[]> => (await happened(server)).slice(lines)
const refusedSince = async (): Promise<readonly AuditEvent[]> => (await eventsOf(server, 'outcome=4')).slice(refusals)

for (const [entry, status, line] of REFUSED) {
  test(`in a batch: ${JSON.stringify(entry)} leaves an event`, async () => {
    const answer = await send(server, 'POST', '/', bundle('batch', [entry]))
    assert.is(answer.statusCode, 200)
    assert.is(answer.json().entry[0].response.status.slice(0, 3), status)
    assert.equal([...(await happenedSince())].sort(), ['batch → 0', line].sort())
    const requests = (await refusedSince()).map(
      (event) => event.entity?.find(({ type }) => type?.code === 'XrequestId')?.what?.identifier?.value,
    )
    assert.equal(requests, [answer.headers['x-request-id']])
  })

  test(`in a transaction: ${JSON.stringify(entry)} leaves an event beside that of the transaction`, async () => {
    const good = post('Patient', { resourceType: 'Patient' })
    const answer = await send(server, 'POST', '/', bundle('transaction', [good, entry]))
    assert.is(String(answer.statusCode), status)
    assert.equal([...(await happenedSince())].sort(), [line, 'transaction → 4'].sort())
  })
}

const TURTLE = { accept: 'application/fhir+turtle' }
/** Refused for parameters or headers, before anybody rules on them. */
const MALFORMED: readonly (readonly [method: string, url: string, headers: Record<string, string>, line: string])[] = [
  ['GET', '/Patient/a', TURTLE, 'read Patient/a → 4'],
  ['GET', '/Patient/a?_summary=some', {}, 'read Patient/a → 4'],
  ['GET', '/Patient/a/_history/1', TURTLE, 'vread Patient/a → 4'],
  ['GET', '/Patient/a/_history?_count=x', {}, 'history-instance Patient/a → 4'],
  ['GET', '/Patient/_history?_since=x', {}, 'history-type → 4'],
  ['GET', '/_history?_count=0', {}, 'history-system → 4'],
  ['GET', '/Patient?_format=ttl', {}, 'search-type → 4'],
  ['PUT', '/Patient/a', TURTLE, 'update Patient/a → 4'],
  ['POST', '/Patient', TURTLE, 'create → 4'],
  ['PATCH', '/Patient/a', { 'content-type': 'application/json-patch+json', ...TURTLE }, 'patch Patient/a → 4'],
  ['DELETE', '/Patient/a', { 'if-match': 'x' }, 'delete Patient/a → 4'],
  ['GET', '/Patient/a/$meta', TURTLE, '$meta Patient/a → 4'],
  ['GET', '/Patient/a/$meta-add', {}, '$meta-add Patient/a → 4'],
  ['GET', '/Nope/a', TURTLE, 'request Nope/a → 4'],
]

test('what is wrong with the parameters or headers of an interaction is a refusal of that', async () => {
  for (const [method, url, headers, line] of MALFORMED) {
    const answer = await server.inject({
      method: method as 'GET',
      url,
      headers: { 'content-type': 'application/fhir+json', ...headers },
      ...(method !== 'GET' && method !== 'DELETE' && { payload: '{"resourceType":"Patient","id":"a"}' }),
    })
    assert.ok(answer.statusCode >= 400 && answer.statusCode < 500, `${method} ${url} ${answer.statusCode}`)
    const last = (await refusedSince()).at(-1)
    assert.is(last === undefined ? '' : lineOf(last), line, `${method} ${url}`)
  }
  const events = await refusedSince()
  assert.is(events.length, MALFORMED.length)
})

for (const type of ['batch', 'transaction'])
  test(`in a ${type}, too`, async () => {
    await send(server, 'POST', '/', bundle(type, [get('Patient/_history?_count=x')]))
    assert.equal([...(await refusedSince()).map(lineOf)].sort().at(0), 'history-type → 4')
  })

test('a Bundle whose entries are refused together is what it says it is', async () => {
  const twice = [post('Patient', { resourceType: 'Patient' }), post('Patient', { resourceType: 'Patient' })].map(
    (entry) => ({ ...entry, fullUrl: 'urn:uuid:61ebe359-bfdc-4613-8bf2-c5e300945f0a' }),
  )
  for (const type of ['batch', 'transaction'])
    for (const entry of [twice, ['no object']]) {
      const answer = await send(server, 'POST', '/', bundle(type, entry as object[]))
      assert.is(answer.statusCode, 400, answer.body)
      assert.is(lineOf((await refusedSince()).at(-1)!), `${type} → 4`)
    }
})

test('the event of a refused entry says what its method would have done', async () => {
  await send(server, 'POST', '/', bundle('batch', [{ request: { method: 'PUT', url: 'Patient/p1' } }]))
  const [event] = await refusedSince()
  assert.is(event?.action, 'U')
})

test('entries of one batch that are refused leave an event each, and those that are performed one as before', async () => {
  const entries = [...REFUSED.map(([entry]) => entry), get('Patient/none'), get('metadata')]
  const answer = await send(server, 'POST', '/', bundle('batch', entries))
  assert.equal(
    answer.json().entry.map(({ response }: { response: { status: string } }) => response.status.slice(0, 3)),
    [...REFUSED.map(([, status]) => status), '404', '200'],
  )
  assert.equal(
    [...(await happenedSince())].sort(),
    [...REFUSED.map(([, , line]) => line), 'read Patient/none → 4', 'batch → 0'].sort(),
  )
})

test('two entries of a Bundle that change the same resource: the second leaves an event of its refusal', async () => {
  const put = { resource: { resourceType: 'Patient', id: 'p1' }, request: { method: 'PUT', url: 'Patient/p1' } }
  assert.is((await send(server, 'POST', '/', bundle('transaction', [put, put]))).statusCode, 400)
  const refused = (await refusedSince()).map(lineOf)
  assert.equal([...refused].sort(), ['transaction → 4', 'update Patient/p1 → 4'])
  assert.is((await send(server, 'POST', '/', bundle('batch', [put, put]))).statusCode, 200)
  assert.equal(
    (await refusedSince()).map(lineOf).filter((line) => line.startsWith('request')),
    ['request Patient/p1 → 4'],
  )
})

test('an entry of a transaction whose conditional reference matches nothing leaves an event', async () => {
  const observation = {
    resourceType: 'Observation',
    status: 'final',
    code: { text: 'x' },
    subject: { reference: 'Patient?_id=nobody' },
  }
  const answer = await send(server, 'POST', '/', bundle('transaction', [post('Observation', observation)]))
  assert.ok(answer.statusCode >= 400 && answer.statusCode < 500, answer.body)
  assert.equal([...(await happenedSince())].sort(), ['create → 4', 'transaction → 4'])
})

test.run()
