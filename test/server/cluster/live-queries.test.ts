/** Live queries on a replica: it follows the primary, and shows what its own searches find. */
// database: postgres, the one kind that has replicas
import pg from 'pg'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { FreshDatabase } from '../../support/database-kinds.ts'
import { createManualClock } from '../../support/manual-clock.ts'
import { namedPlugins } from '../../support/named-plugins.ts'
import {
  freshWith,
  type Json,
  primaryHere,
  replicaHere,
  SECRETS,
  send,
  urlOf,
  whenFollowed,
} from '../../support/replica-servers.ts'
import type { ServerHere } from '../../support/serve-here.ts'
import { serverWith } from '../../support/server-with.ts'
import { openSync, type SyncClient } from '../../support/sync-client.ts'
import { until } from '../../support/until.ts'

const PLUGINS = { plugins: ['search-definitions', 'sync'] }
const MATCHED = 'Observation?status=final'
const ASKED = 'Observation?subject:Patient.gender=female'

let fresh: FreshDatabase
let primary: ServerHere
let replica: ServerHere
test.before(async () => {
  fresh = await freshWith(PLUGINS.plugins)
  primary = await primaryHere(fresh, PLUGINS)
  replica = await replicaHere(fresh, primary.base, PLUGINS)
  await whenFollowed(fresh)
})
test.after(async () => {
  await replica.stop()
  await primary.stop()
  await fresh.remove()
})
const put = async (server: ServerHere, resource: Json): Promise<void> => {
  const { status, text } = await send(server, 'PUT', `/${resource.resourceType}/${resource.id}`, resource)
  assert.ok(status < 300, text)
}
const observation = (id: string, status = 'final', text = 'x'): Json => ({
  ...{ resourceType: 'Observation', id, status, code: { text }, subject: { reference: 'Patient/p' } },
})
const patient = (gender: string): Json => ({ resourceType: 'Patient', id: 'p', gender })
const found = async (server: ServerHere, query: string): Promise<string> => {
  const { json } = await send(server, 'GET', `/${query}&_count=500`)
  return shownOf((json.entry ?? []).map(({ resource }: Json) => resource))
}
const shownOf = (resources: readonly Json[]): string =>
  resources
    .map(({ id, meta }) => `${id}/${meta.versionId}`)
    .sort()
    .join(' ')
const setOf = ({ sets }: SyncClient, id: string): string => shownOf([...(sets.get(id)?.values() ?? [])])

test('a client at a replica has what a search finds there, and no delta shows what the replica does not', async () => {
  await put(primary, patient('female'))
  for (let n = 0; n < 60; n += 1) await put(primary, observation(`o${n}`, n % 3 === 0 ? 'amended' : 'final'))
  const client = await openSync(replica.base)
  assert.is((await client.subscribe('m', MATCHED)).op, 'ready')
  assert.is((await client.subscribe('a', ASKED)).op, 'ready')
  assert.equal([setOf(client, 'm'), setOf(client, 'a')], [await found(primary, MATCHED), await found(primary, ASKED)])
  const stale: string[] = []
  let looked = 0
  const writing = (async () => {
    for (let n = 0; n < 120; n += 1) {
      const id = `o${(n * 11) % 70}`
      if (n % 10 === 9) assert.ok((await send(primary, 'DELETE', `/Observation/${id}`)).status < 300)
      else await put(primary, observation(id, n % 3 === 0 ? 'amended' : 'final', `${n}`))
    }
  })()
  let isOver = false
  const reading = (async () => {
    for (let from = 0; ; ) {
      const delta = client.messages.slice(from).find(({ op }) => op === 'delta')
      if (delta === undefined) {
        if (isOver) return
        await new Promise(setImmediate)
        continue
      }
      from = client.messages.indexOf(delta) + 1
      const { status, json } = await send(replica, 'GET', `/${delta.reference}`)
      looked += 1
      if (status === 200 && Number(json.meta.versionId) < delta.version) stale.push(JSON.stringify(delta))
      if (status === 404) stale.push(JSON.stringify(delta))
    }
  })()
  await writing
  for (const [id, query] of [
    ['m', MATCHED],
    ['a', ASKED],
  ] as const) {
    const expected = await found(primary, query)
    await until(() => setOf(client, id) === expected, 10_000, query)
  }
  isOver = true
  await reading
  assert.equal(stale, [])
  assert.ok(looked > 10, `${looked} deltas`)
  await put(primary, patient('male'))
  await until(() => setOf(client, 'a') === '', 10_000, 'the chain to find nothing')
  assert.equal(client.faults, [])
  // A client that has lost its connection goes on at the primary, and the other way round.
  const at = client.lastAt('m') as string
  await client.close()
  await put(primary, observation('later'))
  const other = await openSync(primary.base)
  other.sets.set('m', new Map(client.sets.get('m')))
  assert.is((await other.subscribe('m', MATCHED, at)).op, 'ready')
  assert.is(setOf(other, 'm'), await found(primary, MATCHED))
  await put(primary, observation('last'))
  await other.next(({ reference }) => reference === 'Observation/last')
  const next = other.lastAt('m') as string
  await other.close()
  const back = await openSync(replica.base)
  back.sets.set('m', new Map(other.sets.get('m')))
  assert.is((await back.subscribe('m', MATCHED, next)).op, 'ready')
  assert.equal(
    back.messages.filter(({ op }) => op === 'delta'),
    [],
  )
  await back.close()
})

test('POST gives the same messages at a replica', async () => {
  await put(primary, observation('o'))
  const leaving = new AbortController()
  const answer = await fetch(`${replica.base}/sync`, {
    method: 'POST',
    signal: leaving.signal,
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ queries: [{ id: 'a', query: MATCHED }] }),
  })
  assert.is(answer.status, 200)
  let text = ''
  const decoder = new TextDecoder()
  const reading = (async () => {
    for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) text += decoder.decode(chunk)
  })().catch(() => undefined)
  await until(() => text.includes('"ready"'), 5_000, 'ready')
  await put(primary, observation('p'))
  await until(() => text.includes('"kind":"enter","reference":"Observation/p"'), 5_000, 'the delta')
  leaving.abort()
  await reading
})

test('one that stops following the primary closes its connections with 4503', async () => {
  await replica.stop()
  // The replica looks only when its clock is moved, so all has to be known to be on disk before it is started.
  const beside = new pg.Client(urlOf(fresh))
  await beside.connect()
  const isOnDisk = async (): Promise<boolean> =>
    (await beside.query('SELECT FROM cluster_mark m, cluster_lease l WHERE m.seq = l.durable')).rowCount === 1
  await until(isOnDisk, 10_000, 'a beat')
  await beside.end()
  const clock = createManualClock()
  const looking = await serverWith({
    clock,
    plugins: await namedPlugins(['smart', 'cluster', ...PLUGINS.plugins]),
    settings: {
      ...fresh.settings,
      server: { bind: '127.0.0.1:0' },
      smart: SECRETS,
      cluster: { role: 'replica', primary_url: primary.base },
    },
  })
  const client = await openSync(await looking.listen())
  assert.is((await client.subscribe('p', 'Patient')).op, 'ready')
  await primary.stop()
  await until(
    async () => {
      await clock.advance(1_001)
      return client.closed !== undefined
    },
    60_000,
    'the connection to be closed',
  )
  assert.is(client.closed?.code, 4503)
  await looking.stop()
})

test.run()
