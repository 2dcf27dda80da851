/** What changes of resources over HTTP tell the feed of changes. */
// npm test: sqlite and postgres, whose statements differ
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { ChangeFeed, type FeedCommit, type ResourceChange } from '../../plugins/database/service.ts'
import { serverWith, type TestServer } from '../support/server-with.ts'

const FHIR = { 'content-type': 'application/fhir+json' }
const settings = { conformance: { update_as_create: true } }

const heardBy = (server: TestServer): FeedCommit[] => {
  const commits: FeedCommit[] = []
  server
    .get(ChangeFeed)
    .listen({ name: 'test', commit: (one) => void commits.push(one), gap: () => assert.unreachable() })
  return commits
}
const send = async (server: TestServer, method: 'POST' | 'PUT' | 'DELETE', url: string, body?: object) => {
  const payload = body === undefined ? {} : { payload: JSON.stringify(body) }
  return server.inject({ method, url, headers: body === undefined ? {} : FHIR, ...payload })
}
const changesOf = ({ published }: FeedCommit): readonly ResourceChange[] => published as readonly ResourceChange[]

test('each version is told with its place, once its request is answered; what stores no version is not told', async () => {
  const server = await serverWith({ settings })
  const commits = heardBy(server)
  const patient = { resourceType: 'Patient', id: 'a', active: true }
  assert.is((await send(server, 'PUT', '/Patient/a', patient)).statusCode, 201)
  assert.is(commits.length, 1)
  assert.is((await send(server, 'PUT', '/Patient/a', patient)).statusCode, 200, 'unchanged')
  assert.is(commits.length, 1)
  const updated = await send(server, 'PUT', '/Patient/a', { ...patient, active: false })
  assert.is((await send(server, 'PUT', '/Patient/b', { ...patient, id: 'c' })).statusCode, 400)
  assert.is((await send(server, 'DELETE', '/Patient/a')).statusCode, 204)
  await server.inject('/Patient/a')
  const all = commits.flatMap(changesOf)
  assert.equal(
    all.map(({ type, id, version, deleted }) => [type, id, version, deleted]),
    [
      ['Patient', 'a', 1, false],
      ['Patient', 'a', 2, false],
      ['Patient', 'a', 3, true],
    ],
  )
  assert.is(new Set(all.map(({ rid }) => rid)).size, 1)
  const { lastUpdated } = (updated.json() as { meta: { lastUpdated: string } }).meta
  assert.is(Math.trunc(all[1]!.stamp / 1_000), Date.parse(lastUpdated))
  await server.stop()
})

test('a transaction is one commit with all its versions, and one that fails tells nothing', async () => {
  const server = await serverWith({ settings })
  const commits = heardBy(server)
  const bundle = (...ids: string[]) => ({
    resourceType: 'Bundle',
    type: 'transaction',
    entry: ids.map((id) => ({
      resource: { resourceType: 'Patient', id: id.slice(1) },
      request: { method: 'PUT', url: `Patient/${id.slice(1)}` },
    })),
  })
  assert.is((await send(server, 'POST', '/', bundle('/a', '/b', '/c'))).statusCode, 200)
  assert.is(commits.length, 1)
  assert.equal(
    changesOf(commits[0]!).map(({ id }) => id),
    ['a', 'b', 'c'],
  )
  const wrong = bundle('/d', '/e')
  Object.assign(wrong.entry[1]!.request, { ifMatch: 'W/"9"' })
  assert.is((await send(server, 'POST', '/', wrong)).statusCode, 412)
  assert.is(commits.length, 1)
  await server.stop()
})

test.run()
