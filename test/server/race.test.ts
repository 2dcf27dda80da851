/** Changes that meet: what one database transaction must decide, decides it the same way on every kind of database. */
// npm test: sqlite and postgres, whose statements differ
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { serverWith, type TestServer } from '../support/server-with.ts'

const JSON_TYPE = { 'content-type': 'application/fhir+json' }
let server: TestServer
test.before(async () => {
  server = await serverWith({ settings: { conformance: { update_as_create: true } } })
})
test.after(() => server.stop())

let sent = 0
/** Each with other content: the same content again makes no version. */
const put = (id: string, headers: Record<string, string> = {}) => {
  sent += 1
  return server.inject({
    method: 'PUT',
    url: `/Patient/${id}`,
    headers: { ...JSON_TYPE, ...headers },
    payload: JSON.stringify({ resourceType: 'Patient', id, name: [{ family: `${sent}` }] }),
  })
}
const count = (answers: readonly { statusCode: number }[]): Record<number, number> => {
  const counts: Record<number, number> = {}
  for (const { statusCode } of answers) counts[statusCode] = (counts[statusCode] ?? 0) + 1
  return counts
}
const versions = async (id: string): Promise<number[]> => {
  const bundle = (await server.inject(`/Patient/${id}/_history?_count=100`)).json() as {
    entry: { resource: { meta: { versionId: string } } }[]
  }
  return bundle.entry.map(({ resource }) => Number(resource.meta.versionId))
}

test('50 updates of an id that is not there yet make one resource with 50 versions', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => put('new')))
  assert.equal(count(answers), { 200: 49, 201: 1 })
  assert.equal(
    await versions('new'),
    Array.from({ length: 50 }, (_, n) => 50 - n),
  )
})

test('of 50 updates with the same If-Match one is let through (row 66)', async () => {
  await put('matched')
  const answers = await Promise.all(Array.from({ length: 50 }, () => put('matched', { 'if-match': 'W/"1"' })))
  assert.equal(count(answers), { 200: 1, 412: 49 })
  assert.equal(await versions('matched'), [2, 1])
})

test('of 50 updates with If-None-Match: * one makes the resource', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => put('first', { 'if-none-match': '*' })))
  assert.equal(count(answers), { 201: 1, 412: 49 })
})

test('updates and deletions of one resource leave a history without gaps', async () => {
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, n) =>
      n % 4 === 3 ? server.inject({ method: 'DELETE', url: '/Patient/mixed' }) : put('mixed'),
    ),
  )
  assert.ok(answers.every(({ statusCode }) => statusCode < 300))
  const bundle = (await server.inject('/Patient/mixed/_history?_count=100')).json() as {
    total: number
    entry: { response: { etag: string } }[]
  }
  assert.equal(
    bundle.entry.map(({ response }) => response.etag),
    Array.from({ length: bundle.total }, (_, n) => `W/"${bundle.total - n}"`),
  )
})

test.run()
