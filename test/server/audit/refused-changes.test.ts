/** A refused change that tells something about a stored resource names the patient whose data it is. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import references from '../../../plugins/references/index.ts'
import type { TestServer } from '../../support/server-with.ts'
import { audited, auditedPlugins, eventsOf, lineOf } from './audited.ts'

const send = (
  server: TestServer,
  method: string,
  url: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
) =>
  server.inject({
    method: method as 'POST',
    url,
    headers: { 'content-type': 'application/fhir+json', ...headers },
    ...(body && { payload: JSON.stringify(body) }),
  })

const subject = { reference: 'Patient/p1' }
const observation = { resourceType: 'Observation', id: 'o1', status: 'final', code: { text: 'x' }, subject }
const large = { ...observation, id: 'o2', note: [{ text: 'x'.repeat(400_000) }] }
const JSON_PATCH = { 'content-type': 'application/json-patch+json' }
const WRONG = { 'if-match': 'W/"7"' }
const test7 = [{ op: 'test', path: '/status', value: 'amended' }]
const bundle = (type: string, method: string, url: string, ifMatch?: string) => ({
  resourceType: 'Bundle',
  type,
  entry: [{ request: { method, url, ifMatch } }],
})

test('a refusal by referrers, by a precondition or by the test of a patch is found among the data of its patient', async () => {
  const server = await audited({
    plugins: [...auditedPlugins, references],
    settings: { conformance: { update_as_create: true }, audit: { reads: false } },
  })
  await send(server, 'PUT', '/Patient/p1', { resourceType: 'Patient', id: 'p1' })
  await send(server, 'PUT', '/Observation/o1', observation)
  await send(server, 'PUT', '/Observation/o2', large)
  const seen = (await eventsOf(server)).length
  let all = seen
  for (const [what, status, line, ask] of [
    ['referrers', 409, 'delete Patient/p1 of Patient/p1', () => send(server, 'DELETE', '/Patient/p1')],
    ['referrers of a match', 409, 'delete Patient/p1 of Patient/p1', () => send(server, 'DELETE', '/Patient?_id=p1')],
    [
      'If-Match',
      412,
      'update Observation/o1 of Patient/p1',
      () => send(server, 'PUT', '/Observation/o1', observation, WRONG),
    ],
    [
      'If-Match of a match',
      412,
      'update Observation/o1 of Patient/p1',
      () => send(server, 'PUT', '/Observation?_id=o1', observation, WRONG),
    ],
    [
      'If-Match of a large one',
      412,
      'update Observation/o2 of Patient/p1',
      () => send(server, 'PUT', '/Observation/o2', large, WRONG),
    ],
    [
      'If-Match of a deletion',
      412,
      'delete Observation/o1 of Patient/p1',
      () => send(server, 'DELETE', '/Observation/o1', undefined, WRONG),
    ],
    [
      'If-None-Match',
      412,
      'update Observation/o1 of Patient/p1',
      () => send(server, 'PUT', '/Observation/o1', observation, { 'if-none-match': '*' }),
    ],
    [
      'If-Match of a patch',
      412,
      'patch Observation/o1 of Patient/p1',
      () => send(server, 'PATCH', '/Observation/o1', test7, { ...JSON_PATCH, ...WRONG }),
    ],
    [
      'a test',
      422,
      'patch Observation/o1 of Patient/p1',
      () => send(server, 'PATCH', '/Observation/o1', test7, JSON_PATCH),
    ],
    [
      'a test of a match',
      422,
      'patch Observation/o1 of Patient/p1',
      () => send(server, 'PATCH', '/Observation?_id=o1', test7, JSON_PATCH),
    ],
    [
      'a test of a large one',
      422,
      'patch Observation/o2 of Patient/p1',
      () => send(server, 'PATCH', '/Observation/o2', test7, JSON_PATCH),
    ],
    [
      'an entry',
      409,
      'delete Patient/p1 of Patient/p1',
      () => send(server, 'POST', '/', bundle('transaction', 'DELETE', 'Patient/p1')),
    ],
    [
      'an entry with ifMatch',
      412,
      'delete Observation/o1 of Patient/p1',
      () => send(server, 'POST', '/', bundle('transaction', 'DELETE', 'Observation/o1', 'W/"7"')),
    ],
    [
      'an entry of a batch',
      200,
      'delete Patient/p1 of Patient/p1',
      () => send(server, 'POST', '/', bundle('batch', 'DELETE', 'Patient/p1')),
    ],
  ] as const) {
    const answer = await ask()
    assert.is(answer.statusCode, status, `${what}: ${answer.body}`)
    const lines = (await eventsOf(server)).slice(all).map(lineOf)
    all += lines.length
    assert.ok(lines.includes(`${line} → 4`), `${what}: ${lines.join('; ')}`)
  }
  await server.stop()
})

test('a refusal for a resource that is not there, or that its caller may not see, names nobody', async () => {
  const server = await audited()
  const before = (await eventsOf(server)).length
  assert.is((await send(server, 'PATCH', '/Observation/none', test7, JSON_PATCH)).statusCode, 404)
  assert.equal((await eventsOf(server)).slice(before).map(lineOf), ['patch Observation/none → 4'])
  await server.stop()
})

test.run()
