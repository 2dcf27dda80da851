/** A replica starts without the writer lease, writes nothing, and shows what the primary has stored. Spec: Cluster behavior. */
// database: postgres, the one kind that several processes share
import pg from 'pg'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { chosenKind, type FreshDatabase } from '../../support/database-kinds.ts'
import {
  asReader,
  freshWith,
  type Json,
  primaryHere,
  reasonOf,
  replicaHere,
  type Sent,
  send,
  startPrimary,
  startReplica,
  urlOf,
  whenSays,
} from '../../support/replica-servers.ts'
import type { ServerHere } from '../../support/serve-here.ts'
import type { SpawnedServer } from '../../support/spawn-server.ts'
import { until } from '../../support/until.ts'

const SEARCHING = { plugins: ['search-definitions'] }

/** Functions that end what a test has started, called after it in reverse order. */
const ends: (() => unknown)[] = []
test.after.each(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})
/** A database for one test; without plugins it has no tables. */
const open = async (plugins?: readonly string[]): Promise<FreshDatabase> => {
  const fresh = await (plugins === undefined ? chosenKind.fresh() : freshWith(plugins))
  ends.push(() => fresh.remove())
  return fresh
}
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

/** For the tests that disturb neither of them. */
let common: Promise<{ fresh: FreshDatabase; primary: ServerHere; replica: ServerHere }> | undefined
const servePair = async () => {
  const fresh = await freshWith(SEARCHING.plugins)
  const primary = await primaryHere(fresh, SEARCHING)
  return { fresh, primary, replica: await replicaHere(fresh, primary.base, SEARCHING) }
}
const sharedPair = () => {
  common ??= servePair()
  return common
}
test.after(async () => {
  const opened = await common
  await opened?.replica.stop()
  await opened?.primary.stop()
  await opened?.fresh.remove()
})
const rejects = async (work: Promise<unknown>, message: string): Promise<void> => {
  try {
    await work
  } catch (error) {
    assert.is((error as Error).message, message)
    return
  }
  assert.unreachable('it should have failed')
}

const patient = (family: string): Json => ({ resourceType: 'Patient', name: [{ family }] })

test('one that is started first waits for the tables and the catalog of the primary, and then reads', async () => {
  const fresh = await open()
  const replica = await served(replicaHere(fresh, 'http://127.0.0.1:9', { isEarly: true }))
  await whenSays(replica, 'waiting for the primary to migrate the database')
  assert.is((await fetch(`${replica.base}/livez`)).status, 200)
  assert.is((await send(replica, 'GET', '/Patient')).status, 503)
  const primary = await served(primaryHere(fresh))
  const made = await send(primary, 'POST', '/Patient', patient('first'))
  assert.is(made.status, 201)
  await whenSays(replica, 'ok')
  const found = await send(replica, 'GET', `/Patient/${made.json.id}`)
  assert.equal([found.status, found.json.name], [200, [{ family: 'first' }]])
  const health = await send(replica, 'GET', '/healthz')
  assert.equal([health.status, health.json.role], [200, 'replica'])
})

test('it works with a role of the database that may write the shared tables only', async () => {
  const plugins = ['search-definitions', 'limits', 'metering', 'request-log', 'references', 'validation']
  const settings = {
    rate_limit: { requests_per_second: 1000, burst: 1000, anonymous_requests_per_second: 1000, anonymous_burst: 1000 },
    quota: { requests_per_day: 1000 },
    request_log: { store: true },
  }
  const fresh = await open()
  const primary = await served(primaryHere(fresh, { plugins, settings }))
  const url = await asReader(fresh)
  const replica = await replicaHere(fresh, primary.base, { plugins, settings, url })
  const made = await send(replica, 'POST', '/Patient', patient('by the primary'))
  assert.is(made.status, 201, made.text)
  assert.is((await send(replica, 'GET', '/Patient?family=by')).json.entry.length, 1)
  assert.is((await send(replica, 'GET', '/metadata')).status, 200)
  assert.is((await send(replica, 'GET', `/Patient/${made.json.id}/_history`)).json.total, 1)
  assert.is((await send(replica, 'GET', `/Patient/${made.json.id}/$everything`)).status, 200)
  const valid = await send(replica, 'POST', '/Patient/$validate?mode=create', patient('not stored'))
  assert.is(valid.status, 200, valid.text)
  // What it counts itself is stored when it ends.
  await replica.stop()
  const stored = new pg.Client(urlOf(fresh))
  await stored.connect()
  const { rows } = await stored.query("SELECT count(*)::int AS n FROM request_log WHERE route LIKE '%metadata%'")
  await stored.end()
  assert.is(rows[0].n, 1)
})

test('what the primary makes is read with its token at once, in every way, and answers of the replica have tokens', async () => {
  const { primary, replica } = await sharedPair()
  let stale = 0
  let newest = 0
  for (let n = 0; n < 40; n += 1) {
    const made = await send(primary, 'POST', '/Patient', patient(`n${n}`))
    assert.match(made.snapshot ?? '', /^1-\d+-\d+-/)
    const token = { 'x-snapshot': made.snapshot }
    const read = await send(replica, 'GET', `/Patient/${made.json.id}`, undefined, token)
    if (read.status !== 200) stale += 1
    const found = await send(replica, 'GET', `/Patient?family=n${n}&_sort=birthdate`, undefined, token)
    assert.is(found.status, 200, found.text)
    if (found.json.entry?.some((one: Json) => one.resource.id === made.json.id) !== true) stale += 1
    const seq = Number(read.snapshot?.split('-')[2])
    assert.ok(seq >= Number(made.snapshot?.split('-')[2]), `${read.snapshot} after ${made.snapshot}`)
    assert.ok(seq >= newest, 'the number of an answer never goes back')
    newest = seq
  }
  assert.is(stale, 0)
})

test('a page with what it includes is of one state, however many statements it takes', async () => {
  const { primary, replica } = await sharedPair()
  // Both are changed by one transaction, over and over.
  const pair = (n: number): Json => ({
    resourceType: 'Bundle',
    type: 'transaction',
    entry: [
      { resource: { ...patient(`n${n}`), id: 'p' }, request: { method: 'PUT', url: 'Patient/p' } },
      {
        resource: {
          resourceType: 'Observation',
          id: 'o',
          status: 'final',
          code: { text: `n${n}` },
          subject: { reference: 'Patient/p' },
        },
        request: { method: 'PUT', url: 'Observation/o' },
      },
    ],
  })
  assert.is((await send(primary, 'POST', '/', pair(0))).status, 200)
  let isOver = false
  let writes = 0
  const writing = (async () => {
    for (let n = 1; !isOver; n += 1) {
      assert.is((await send(primary, 'POST', '/', pair(n))).status, 200)
      writes = n
    }
  })()
  const torn: string[] = []
  const seen = new Set<string>()
  const read = async (): Promise<void> => {
    const path = '/Observation?_id=o&_include=Observation:subject&_total=accurate'
    const { status, json, text } = await send(replica, 'GET', path)
    assert.is(status, 200, text)
    const [observation, subject] = (json.entry as Json[]).map(({ resource }) => resource as Json)
    const names = [observation?.code.text, subject?.name[0].family] as string[]
    if (names[0] !== names[1]) torn.push(String(names))
    seen.add(names[0] as string)
  }
  try {
    const areFew = (): boolean => writes <= 20 || seen.size <= 20
    for (let n = 0; n < 50 || (n < 5_000 && areFew()); n += 1) await read()
  } finally {
    isOver = true
    await writing
  }
  assert.equal(torn, [])
  assert.ok(writes > 20 && seen.size > 20, `${writes} writes, ${seen.size} states seen`)
})

test('a token that is garbage is 400, one of another database 409, one of nobody 409 by the primary', async () => {
  const { primary, replica } = await sharedPair()
  const { snapshot } = await send(primary, 'POST', '/Patient', patient('one'))
  // The last part may have hyphens.
  const [, epoch, seq, mac] = /^1-(\d+)-(\d+)-(.+)$/.exec(snapshot as string) ?? []
  const read = async (token: string): Promise<number> => {
    const { status } = await send(replica, 'GET', '/Patient', undefined, { 'x-snapshot': token })
    return status
  }
  assert.is(await read(snapshot as string), 200)
  assert.is(await read('garbage'), 400)
  assert.is(await read(`1-${epoch}-${Number(seq) + 1}-${mac}`), 409)
  assert.is(await read(`1-${Number(epoch) + 1}-${seq}-${mac}`), 409)
  const elsewhere = await served(primaryHere(await open([])))
  const theirs = await send(elsewhere, 'POST', '/Patient', patient('one'))
  assert.is(await read(theirs.snapshot as string), 409)
  assert.is((await send(primary, 'GET', '/Patient', undefined, { 'x-snapshot': theirs.snapshot })).status, 409)
})

test('a commit that takes long is passed by no answer: its number comes with it', async () => {
  const { fresh, primary, replica } = await sharedPair()
  const before = await send(primary, 'PUT', '/Patient/before', { ...patient('before'), id: 'before' })
  const token = { 'x-snapshot': before.snapshot }
  assert.is((await send(replica, 'GET', '/Patient/before', undefined, token)).status, 200)
  const onlooker = new pg.Client(urlOf(fresh))
  await onlooker.connect()
  // Behind the fence, which has counted it, and before COMMIT.
  await onlooker.query(`CREATE TABLE still (one integer);
    CREATE FUNCTION stand_still() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN WHILE EXISTS (SELECT FROM still) LOOP PERFORM pg_sleep(0.02); END LOOP; RETURN NEW; END $$;
    CREATE TRIGGER still AFTER UPDATE ON cluster_mark FOR EACH ROW EXECUTE FUNCTION stand_still();
    INSERT INTO still VALUES (1)`)
  const put = (id: string): Promise<Sent> => send(primary, 'PUT', `/Patient/${id}`, { ...patient(id), id })
  const late = put('late')
  const sleeping = "SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
  await until(async () => (await onlooker.query(sleeping)).rows[0].n > 0, 5_000, 'the commit to stand still')
  const made = Promise.allSettled([late, put('o1'), put('o2'), put('o3')])
  for (let n = 0; n < 40; n += 1) {
    const read = await send(replica, 'GET', '/Patient/late')
    assert.is(read.status, 404)
    assert.is(read.snapshot, before.snapshot)
  }
  await onlooker.query('DELETE FROM still')
  await onlooker.end()
  for (const outcome of await made) {
    assert.is(outcome.status, 'fulfilled')
    const { status, snapshot, json } = (outcome as PromiseFulfilledResult<Sent>).value
    assert.is(status, 201)
    const token = { 'x-snapshot': snapshot }
    assert.is((await send(replica, 'GET', `/Patient/${json.id}`, undefined, token)).status, 200)
  }
})

test('without the primary it reads on and refuses changes; after a takeover it follows the next one', async () => {
  const fresh = await open([])
  const primary = await started(startPrimary(fresh))
  const { port } = new URL(primary.base)
  const replica = await served(replicaHere(fresh, primary.base))
  const made = await send(replica, 'POST', '/Patient', patient('before'))
  await primary.kill()
  assert.is((await send(replica, 'GET', `/Patient/${made.json.id}`)).status, 200)
  const refused = await send(replica, 'POST', '/Patient', patient('nobody'))
  assert.is(refused.status, 503)
  assert.is(await reasonOf(replica), 'ok')
  const next = await served(primaryHere(fresh, { settings: { server: { bind: `127.0.0.1:${port}` } } }))
  const after = await send(replica, 'POST', '/Patient', patient('after'))
  assert.is(after.status, 201, after.text)
  assert.ok(Number(after.snapshot?.split('-')[1]) > Number(made.snapshot?.split('-')[1]), 'another epoch')
  const token = { 'x-snapshot': after.snapshot }
  assert.is((await send(replica, 'GET', `/Patient/${after.json.id}`, undefined, token)).status, 200)
  // A token of the epoch before stays good.
  const earlier = { 'x-snapshot': made.snapshot }
  assert.is((await send(replica, 'GET', `/Patient/${made.json.id}`, undefined, earlier)).status, 200)
  assert.is((await send(next, 'GET', `/Patient/${made.json.id}`, undefined, earlier)).status, 200)
})

test('it refuses to start on a database of a newer build, and answers nothing once one has migrated it', async () => {
  const fresh = await open([])
  const primary = await served(primaryHere(fresh))
  const replica = await served(replicaHere(fresh, primary.base))
  assert.is((await send(replica, 'GET', '/Patient')).status, 200)
  const newer = new pg.Client(urlOf(fresh))
  await newer.connect()
  await newer.query("INSERT INTO migration (name, executed_at) VALUES ('storage/9999-later', now())")
  await newer.end()
  await whenSays(replica, 'the database was migrated by a newer build')
  assert.is((await send(replica, 'GET', '/Patient')).status, 503)
  const again = startReplica(fresh, primary.base)
  await rejects(again, 'the server ended with 1')
})

test.run()
