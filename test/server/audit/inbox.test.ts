/** What a replica shows is told to the trail by way of the inbox: once, sealed, and nothing is shown that cannot be told. */
// database: postgres, the one kind that has replicas
import pg from 'pg'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { FreshDatabase } from '../../support/database-kinds.ts'
import {
  asReader,
  freshWith,
  type Json,
  primaryHere,
  replicaHere,
  send,
  startPrimary,
  startReplica,
  urlOf,
} from '../../support/replica-servers.ts'
import type { ServerHere } from '../../support/serve-here.ts'
import type { SpawnedServer } from '../../support/spawn-server.ts'
import { until } from '../../support/until.ts'
import { KEY } from './audited.ts'

const MOVED_MS = 10_000
// https://dicom.nema.org/medical/dicom/current/output/chtml/part16/sect_CID_401.html
const STARTED = '110120'
const STOPPED = '110121'

const AUDITED = { plugins: ['audit'], settings: { audit: { key: KEY } } }

let fresh: FreshDatabase
let onlooker: pg.Client
/** Functions that end what a test has started, called after it in reverse order. */
const ends: (() => unknown)[] = []
test.before.each(async () => {
  fresh = await freshWith(AUDITED.plugins)
  onlooker = new pg.Client(urlOf(fresh))
  await onlooker.connect()
})
test.after.each(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  await onlooker.end()
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
/** With the port of a server that is gone, so that replicas find it. */
const inPlaceOf = ({ base }: ServerHere) => ({
  ...AUDITED,
  settings: { ...AUDITED.settings, server: { bind: new URL(base).host } },
})
const subtypeOf = ({ resource }: Json): string => resource.subtype?.[0].code
const eventsAt = async (server: Pick<ServerHere, 'base'>, query = ''): Promise<Json[]> => {
  const { status, json, text } = await send(server, 'GET', `/_audit?_count=1000${query}`)
  assert.is(status, 200, text)
  return json.entry ?? []
}
/** How often the request with this id is in the trail. */
const timesOf = (events: readonly Json[], id: string): number =>
  events.filter(({ resource }) => JSON.stringify(resource.entity ?? []).includes(`"${id}"`)).length
const alarmsIn = (events: readonly Json[]): number => events.filter((one) => subtypeOf(one) === 'alarm').length
const isSound = async (server: Pick<ServerHere, 'base'>): Promise<boolean> =>
  (await send(server, 'GET', '/_audit/verify')).json.ok === true
const waiting = async (): Promise<{ server: string; n: number }[]> =>
  (await onlooker.query('SELECT server, n::int AS n FROM audit_inbox WHERE body IS NOT NULL ORDER BY n')).rows
const whenWaiting = (count: number): Promise<void> =>
  until(async () => (await waiting()).length >= count, MOVED_MS, `${count} rows of the inbox`)
const whenMoved = (): Promise<void> => until(async () => (await waiting()).length === 0, MOVED_MS, 'the inbox')
const patient = (family: string): Json => ({ resourceType: 'Patient', name: [{ family }] })
/** Reads that are one row of the inbox each. */
const readInTurn = async (replica: Pick<ServerHere, 'base'>, path: string, ids: readonly string[]): Promise<void> => {
  for (const id of ids) {
    const before = (await waiting()).length
    await send(replica, 'GET', path, undefined, { 'x-request-id': id })
    await whenWaiting(before + 1)
  }
}

test('reads of a replica are in the trail when it is asked, and what it sends on is there once', async () => {
  const primary = await served(primaryHere(fresh, AUDITED))
  const replica = await served(replicaHere(fresh, primary.base, AUDITED))
  const made = await send(replica, 'POST', '/Patient', patient('one'), { 'x-request-id': 'inbox-create' })
  const path = `/Patient/${made.json.id}`
  for (let n = 0; n < 50; n += 1) await send(replica, 'GET', path, undefined, { 'x-request-id': `inbox-read-${n}` })
  await send(replica, 'GET', '/Patient/nobody', undefined, { 'x-request-id': 'inbox-missing' })
  const events = await eventsAt(replica)
  assert.is(timesOf(events, 'inbox-create'), 1)
  for (let n = 0; n < 50; n += 1) assert.is(timesOf(events, `inbox-read-${n}`), 1)
  assert.is(timesOf(events, 'inbox-missing'), 1)
  const ofPatient = await eventsAt(replica, `&patient=${made.json.id}&subtype=read`)
  assert.is(ofPatient.length, 50)
  assert.is(events.filter((one) => subtypeOf(one) === STARTED).length, 2)
  await replica.stop()
  await whenMoved()
  const after = await eventsAt(primary)
  assert.is(after.filter((one) => subtypeOf(one) === STOPPED).length, 1)
  assert.is((await onlooker.query('SELECT 1 FROM audit_inbox')).rowCount, 0)
  assert.is(alarmsIn(after), 0)
  assert.is(await isSound(primary), true)
})

test('without a primary what a replica shows waits in the inbox, also when the replica is killed, and is moved once', async () => {
  const primary = await served(primaryHere(fresh, AUDITED))
  const replica = await started(startReplica(fresh, primary.base, AUDITED))
  const made = await send(replica, 'POST', '/Patient', patient('one'))
  await eventsAt(replica)
  await primary.stop()
  const ids = Array.from({ length: 20 }, (_, n) => `waits-${n}`)
  await readInTurn(replica, `/Patient/${made.json.id}`, ids)
  await replica.kill()
  const next = await started(startPrimary(fresh, inPlaceOf(primary)))
  await whenMoved()
  await next.kill()
  const last = await served(primaryHere(fresh, inPlaceOf(primary)))
  const events = await eventsAt(last)
  for (const id of ids) assert.is(timesOf(events, id), 1, id)
  assert.is(alarmsIn(events), 0)
  assert.is(await isSound(last), true)
})

test('rows that somebody else has changed, removed, made or put back are alarms, and what they say is in no event', async () => {
  const primary = await served(primaryHere(fresh, AUDITED))
  const replica = await served(replicaHere(fresh, primary.base, AUDITED))
  await send(replica, 'GET', '/Patient')
  // Asked for the trail, it has nothing left of its own.
  await eventsAt(replica)
  await primary.stop()
  const ids = ['row-a', 'row-b', 'row-c', 'row-d']
  await readInTurn(replica, '/Patient/x', ids)
  const [one, two] = await waiting()
  const copy = 'SELECT server, n, key, body, seal FROM audit_inbox WHERE server = $1 AND n = $2'
  const { rows } = await onlooker.query(copy, [one!.server, one!.n])
  // Changed: another id of as many characters.
  await onlooker.query(
    "UPDATE audit_inbox SET body = convert_to(replace(convert_from(body, 'UTF8'), 'row-a', 'row-z'), 'UTF8') WHERE n = $1",
    [one!.n],
  )
  // Removed.
  await onlooker.query('DELETE FROM audit_inbox WHERE n = $1', [two!.n])
  // Made: in the name of another server, with a seal that fitted elsewhere.
  const insert = 'INSERT INTO audit_inbox (server, n, key, body, seal) VALUES ($1, $2, $3, $4, $5)'
  await onlooker.query(insert, ['somebody', 1, rows[0].key, rows[0].body, rows[0].seal])
  const next = await served(primaryHere(fresh, inPlaceOf(primary)))
  await whenMoved()
  const events = await eventsAt(next)
  assert.equal(
    ['row-a', 'row-z', 'row-b', 'row-c', 'row-d'].map((id) => timesOf(events, id)),
    [0, 0, 0, 1, 1],
  )
  assert.is(alarmsIn(events), 3)
  // Put back: it was the replica's, and its place is over.
  await onlooker.query(insert, [one!.server, one!.n, rows[0].key, rows[0].body, rows[0].seal])
  await whenMoved()
  const again = await eventsAt(next)
  assert.is(timesOf(again, 'row-a'), 0)
  assert.is(alarmsIn(again), 4)
  assert.is(await isSound(next), true)
})

const failureOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'started',
    (error) => (error as Error).message,
  )

test('a replica with another key, and one that may not write the inbox, do not start', async () => {
  const primary = await served(primaryHere(fresh, AUDITED))
  const settings = { audit: { key: 'another key of a chain, for tests' } }
  assert.is(
    await failureOf(startReplica(fresh, primary.base, { plugins: ['audit'], settings })),
    'the server ended with 1',
  )
  const url = await asReader(fresh)
  const able = await served(replicaHere(fresh, primary.base, { ...AUDITED, url }))
  assert.is((await send(able, 'GET', '/Patient')).status, 200)
  await able.stop()
  await onlooker.query('REVOKE INSERT ON audit_inbox FROM reader')
  assert.is(await failureOf(startReplica(fresh, primary.base, { ...AUDITED, url })), 'the server ended with 1')
})

test.run()
