/** Live queries go on at the next primary: a client that comes back with `resume` gets what it has missed. */
// database: postgres, the one kind that several processes share
// waits: for the next primary
import pg from 'pg'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { FreshDatabase } from '../../support/database-kinds.ts'
import {
  freshWith,
  type Json,
  primaryHere,
  send,
  standbyHere,
  startPrimary,
  urlOf,
  whenFollowed,
  whenSays,
} from '../../support/replica-servers.ts'
import type { ServerHere } from '../../support/serve-here.ts'
import type { SpawnedServer } from '../../support/spawn-server.ts'
import { fold, openSync, type SyncClient } from '../../support/sync-client.ts'
import { until } from '../../support/until.ts'

const PLUGINS = { plugins: ['search-definitions', 'sync'] }
const QUERY = 'Patient?gender=female'
const TAKEOVER_MS = 20_000

let fresh: FreshDatabase
let beside: pg.Client
/** Functions that end what a test has started, called after it in reverse order. */
const ends: (() => unknown)[] = []
test.before.each(async () => {
  fresh = await freshWith(PLUGINS.plugins)
  beside = new pg.Client(urlOf(fresh))
  await beside.connect()
})
test.after.each(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  await beside.end()
  await fresh.remove()
})
const started = async (starting: Promise<SpawnedServer>): Promise<SpawnedServer> => {
  const server = await starting
  ends.push(() => server.kill())
  return server
}
const served = async (starting: Promise<ServerHere>): Promise<ServerHere> => {
  const server = await starting
  ends.push(() => server.stop())
  return server
}
type Base = Pick<ServerHere, 'base'>
const numberOf = async (query: string): Promise<number> => (await beside.query(`SELECT (${query})::int AS n`)).rows[0].n

/** A primary whose commits have rows, because a standby waits. */
const startPair = async () => {
  const primary = await started(startPrimary(fresh, PLUGINS))
  const standby = await served(standbyHere(fresh, PLUGINS))
  await whenFollowed(fresh)
  return { primary, standby }
}
const patient = (id: string, more: Json = {}): Json => ({ resourceType: 'Patient', id, gender: 'female', ...more })
const put = async (server: Base, resource: Json): Promise<void> => {
  const { status, text } = await send(server, 'PUT', `/Patient/${resource.id}`, resource)
  assert.ok(status < 300, text)
}
const remove = async (server: Base, id: string): Promise<void> =>
  assert.is((await send(server, 'DELETE', `/Patient/${id}`)).status, 204)
const transact = async (server: Base, resources: readonly Json[]): Promise<void> => {
  const entry = resources.map((resource) => ({
    resource,
    request: { method: 'PUT', url: `Patient/${resource.id}` },
  }))
  const { status, text } = await send(server, 'POST', '/', { resourceType: 'Bundle', type: 'transaction', entry })
  assert.is(status, 200, text)
}
const found = async (server: Base): Promise<readonly string[]> => {
  const { json } = await send(server, 'GET', `/${QUERY}&_count=100`)
  return (json.entry ?? []).map(({ resource }: Json) => `${resource.id}/${resource.meta.versionId}`).sort()
}
const setOf = (client: SyncClient): readonly string[] =>
  [...(client.sets.get('q')?.values() ?? [])].map(({ id, meta }) => `${id}/${meta.versionId}`).sort()
const deltasOf = ({ messages }: SyncClient): readonly string[] =>
  messages.filter(({ op }) => op === 'delta').map(({ kind, reference, version }) => `${kind} ${reference} ${version}`)
const resumed = async (server: Base, before: Pick<SyncClient, 'sets'>, at: string) => {
  const client = await openSync(server.base)
  client.sets.set('q', new Map(before.sets.get('q')))
  return { client, answer: await client.subscribe('q', QUERY, at) }
}
/** The set and position of a client after so many deltas. */
const afterDeltas = ({ messages }: SyncClient, count: number) => {
  const sets: SyncClient['sets'] = new Map()
  const last = messages.filter(({ op }) => op === 'delta')[count - 1] as Json
  for (const message of messages.slice(0, messages.indexOf(last) + 1)) fold(sets, [], message)
  return { sets, at: last.at as string }
}

/** Changes while the client looks, more while it is away, and the end of the primary. */
const runUntilKilled = async () => {
  const { primary, standby } = await startPair()
  for (const id of ['a', 'b', 'c', 'd']) await put(primary, patient(id))
  const client = await openSync(primary.base)
  assert.is((await client.subscribe('q', QUERY)).op, 'ready')
  await put(primary, patient('a', { birthDate: '1980' }))
  await transact(primary, [patient('e'), patient('f'), patient('b', { gender: 'male' })])
  await until(() => deltasOf(client).length === 4, 5_000, 'four deltas')
  assert.equal(setOf(client), await found(primary))
  const at = client.lastAt('q') as string
  await client.close()
  await put(primary, patient('c', { birthDate: '1981' }))
  await remove(primary, 'd')
  await transact(primary, [patient('g'), patient('e', { gender: 'male' })])
  await put(primary, patient('h'))
  await remove(primary, 'h')
  const last = await numberOf('SELECT seq FROM cluster_mark')
  assert.ok((await numberOf(`SELECT count(*) FROM cluster_change WHERE seq = ${last}`)) === 1)
  await primary.kill()
  await whenSays(standby, 'ok', TAKEOVER_MS)
  return { standby, client, at, last }
}

test('it gets the net changes at the standby that has taken over, of both epochs, and goes on', async () => {
  const { standby, client: before, at } = await runUntilKilled()
  await put(standby, patient('i'))
  await put(standby, patient('c', { birthDate: '1982' }))
  // Nobody follows the new primary, so that its commits have no rows.
  const beat = await numberOf('SELECT beat FROM cluster_lease')
  await until(async () => (await numberOf('SELECT beat FROM cluster_lease')) > beat + 1, 10_000, 'two beats')
  await put(standby, patient('j'))
  const { client, answer } = await resumed(standby, before, at)
  assert.is(answer.op, 'ready', JSON.stringify(answer))
  assert.equal(setOf(client), await found(standby))
  assert.equal([...deltasOf(client)].sort(), [
    'change Patient/c 3',
    'enter Patient/g 1',
    'enter Patient/i 1',
    'enter Patient/j 1',
    'leave Patient/d 2',
    'leave Patient/e 2',
  ])
  // A client that had received a part of the Bundle when its connection was lost.
  const half = afterDeltas(before, 3)
  const rest = await resumed(standby, half, half.at)
  assert.is(rest.answer.op, 'ready')
  assert.equal(setOf(rest.client), await found(standby))
  assert.equal(rest.client.faults, [])
  await rest.client.close()
  await put(standby, patient('k'))
  await client.next(({ reference }) => reference === 'Patient/k')
  assert.equal(setOf(client), await found(standby))
  assert.equal([...before.faults, ...client.faults], [])
  // Resumes again, from a place of the new epoch.
  const next = client.lastAt('q') as string
  await client.close()
  await remove(standby, 'k')
  const again = await resumed(standby, client, next)
  assert.is(again.answer.op, 'ready')
  assert.equal(deltasOf(again.client), ['leave Patient/k 2'])
  await again.client.close()
})

test('where a commit has no row any more, or the place is of a history that was lost, it is reset', async () => {
  const { standby, client: before, at, last } = await runUntilKilled()
  await beside.query(`DELETE FROM cluster_change WHERE seq = ${last - 2}`)
  const holed = await resumed(standby, before, at)
  assert.equal([holed.answer.op, holed.answer.reason], ['reset', 'gap'])
  await holed.client.close()
  await beside.query('DELETE FROM cluster_change')
  const trimmed = await resumed(standby, before, at)
  assert.equal([trimmed.answer.op, trimmed.answer.reason], ['reset', 'gap'])
  // A subscription without `resume` gets the set again.
  assert.is((await trimmed.client.subscribe('q', QUERY)).op, 'ready')
  assert.equal(setOf(trimmed.client), await found(standby))
  const own = trimmed.client.lastAt('q') as string
  await trimmed.client.close()
  const kept = await resumed(standby, trimmed.client, own)
  assert.is(kept.answer.op, 'ready')
  await kept.client.close()
  await standby.stop()
  await beside.query("UPDATE cluster_epoch SET term = 'another'")
  const next = await served(primaryHere(fresh, PLUGINS))
  const lost = await resumed(next, trimmed.client, own)
  assert.equal([lost.answer.op, lost.answer.reason], ['reset', 'gap'])
  await lost.client.close()
})

test('a primary that is started again goes on where nothing was committed meanwhile', async () => {
  const primary = await started(startPrimary(fresh, PLUGINS))
  await put(primary, patient('a'))
  const client = await openSync(primary.base)
  await client.subscribe('q', QUERY)
  await put(primary, patient('b'))
  await client.next(({ reference }) => reference === 'Patient/b')
  const at = client.lastAt('q') as string
  await primary.kill()
  const next = await served(primaryHere(fresh, PLUGINS))
  await put(next, patient('c'))
  const again = await resumed(next, client, at)
  assert.is(again.answer.op, 'ready')
  assert.equal(deltasOf(again.client), ['enter Patient/c 1'])
  // The position of another query, and a text that is no position.
  assert.is((await again.client.subscribe('other', 'Patient?gender=male', at)).reason, 'gap')
  assert.is((await again.client.subscribe('none', QUERY, 'x')).reason, 'gap')
  await again.client.close()
})

test.run()
