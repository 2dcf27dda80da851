/** A holder of the writer lease that stands still, at any point of a write, is replaced, and stores nothing afterwards. F3, F4. */
// database: postgres; of a SQLite file the frozen holder keeps the lock
// waits: for leases that run out
import pg from 'pg'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { chosenKind, type FreshDatabase } from '../../support/database-kinds.ts'
import { type ServerHere, serveHere } from '../../support/serve-here.ts'
import { basic } from '../../support/server-with.ts'
import { type SpawnedServer, spawnServer } from '../../support/spawn-server.ts'
import { until } from '../../support/until.ts'

const TAKEOVER_MS = 15_000 // asked for of a frozen holder
const GONE_MS = 15_000
const RESTART = 75

let fresh: FreshDatabase
let onlooker: pg.Client
/** Functions that end what a test has started, called after it in reverse order. */
const ends: (() => unknown)[] = []
test.before.each(async () => {
  fresh = await chosenKind.migrated(basic)
  onlooker = new pg.Client((fresh.settings.database as { postgres_url: string }).postgres_url)
})
test.after.each(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  await onlooker.end()
  await fresh.remove()
})

/** A process of its own, which can be suspended. */
const start = async (isEarly = false): Promise<SpawnedServer> => {
  const server = await spawnServer(fresh.settings, { isEarly })
  ends.push(() => {
    server.child.kill('SIGCONT')
    return server.kill()
  })
  return server
}
const serve = async (isEarly = false): Promise<ServerHere> => {
  const server = await serveHere(fresh.settings, { isEarly })
  ends.push(() => server.stop())
  return server
}
type Base = Pick<ServerHere, 'base'>
const send = (server: Base, method: string, path: string, body?: object): Promise<Response> =>
  fetch(`${server.base}${path}`, {
    method,
    ...(body === undefined ? {} : { headers: { 'content-type': 'application/fhir+json' }, body: JSON.stringify(body) }),
  })
/** Never a success, or no answer at all. */
const outcomeOf = (sent: Promise<Response>): Promise<number | string> =>
  sent.then(
    ({ status }) => status,
    () => 'no answer',
  )
const patient = (id: string, family: string) => ({ resourceType: 'Patient', id, name: [{ family }] })
const reasonOf = async (server: Base): Promise<string> =>
  ((await (await fetch(`${server.base}/readyz`)).json()) as { reason?: string }).reason ?? 'ok'
const whenWaiting = (server: Base): Promise<void> =>
  until(async () => (await reasonOf(server)) === 'waiting for the writer lease', GONE_MS, 'the second to wait')
/** A primary, and one that waits. */
const startBoth = async (): Promise<readonly [SpawnedServer, ServerHere]> => {
  const first = await start()
  await onlooker.connect()
  const second = await serve(true)
  await whenWaiting(second)
  return [first, second]
}
const whenReady = (server: Base): Promise<void> =>
  until(async () => (await reasonOf(server)) === 'ok', TAKEOVER_MS, 'the takeover')
const whenEnded = async (server: SpawnedServer): Promise<void> => {
  await until(() => server.child.exitCode !== null, GONE_MS, 'the former holder to end')
  assert.is(server.child.exitCode, RESTART)
}

test('a holder that stands still between two writes is replaced, refuses what comes after, and ends with 75', async () => {
  const [first, second] = await startBoth()
  assert.is((await send(first, 'PUT', '/Patient/a', patient('a', 'before'))).status, 201)
  first.child.kill('SIGSTOP')
  await whenReady(second)
  assert.is((await send(second, 'PUT', '/Patient/a', patient('a', 'after'))).status, 200)
  const late = outcomeOf(send(first, 'PUT', '/Patient/a', patient('a', 'late')))
  const read = outcomeOf(send(first, 'GET', '/Patient/a'))
  first.child.kill('SIGCONT')
  assert.not.equal(Number(await late) < 300, true, String(await late))
  assert.not.equal(Number(await read) < 300, true, 'it answers nothing from what it had')
  await whenEnded(first)
  const found = (await (await send(second, 'GET', '/Patient/a')).json()) as { meta: { versionId: string } }
  assert.is(found.meta.versionId, '2')
})

test('one that stands still between its work and the fence stores nothing', async () => {
  const [first, second] = await startBoth()
  assert.is((await send(first, 'PUT', '/Patient/a', patient('a', 'before'))).status, 201)
  // The work waits for this lock; when it has it, its process sends nothing any more.
  await onlooker.query('BEGIN; LOCK TABLE resource IN ACCESS EXCLUSIVE MODE')
  const late = outcomeOf(send(first, 'PUT', '/Patient/a', patient('a', 'late')))
  const waiting = "SELECT count(*)::int AS n FROM pg_locks WHERE NOT granted AND relation = 'resource'::regclass"
  await until(async () => (await onlooker.query(waiting)).rows[0].n > 0, 5_000, 'the write to wait')
  first.child.kill('SIGSTOP')
  await onlooker.query('COMMIT')
  await whenReady(second)
  assert.is((await send(second, 'PUT', '/Patient/b', patient('b', 'after'))).status, 201)
  first.child.kill('SIGCONT')
  assert.not.equal(Number(await late) < 300, true, String(await late))
  await whenEnded(first)
  const found = (await (await send(second, 'GET', '/Patient/a')).json()) as { meta: { versionId: string } }
  assert.is(found.meta.versionId, '1')
})

test('one that stands still between the fence and COMMIT is ended by whoever takes over, and stores nothing', async () => {
  const [first, second] = await startBoth()
  assert.is((await send(first, 'PUT', '/Patient/a', patient('a', 'before'))).status, 201)
  // Behind the fence, whose row stays locked; takeover, which changes the epoch, passes.
  await onlooker.query(`CREATE FUNCTION stand_still() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF NEW.epoch = OLD.epoch AND current_setting('application_name') <> 'x' AND EXISTS (SELECT FROM still) THEN PERFORM pg_sleep(60); END IF; RETURN NEW; END $$;
    CREATE TABLE still (one integer);
    CREATE TRIGGER still AFTER UPDATE ON cluster_mark FOR EACH ROW EXECUTE FUNCTION stand_still();
    INSERT INTO still VALUES (1)`)
  const late = outcomeOf(send(first, 'PUT', '/Patient/a', patient('a', 'late')))
  const sleeping = "SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
  await until(async () => (await onlooker.query(sleeping)).rows[0].n > 0, 5_000, 'the commit to stand still')
  first.child.kill('SIGSTOP')
  await onlooker.query('DELETE FROM still')
  await whenReady(second)
  assert.is((await send(second, 'PUT', '/Patient/b', patient('b', 'after'))).status, 201)
  first.child.kill('SIGCONT')
  assert.not.equal(Number(await late) < 300, true, String(await late))
  await whenEnded(first)
  const found = (await (await send(second, 'GET', '/Patient/a')).json()) as { meta: { versionId: string } }
  assert.is(found.meta.versionId, '1')
})

test("one that waits and stands still is in nobody's way", async () => {
  const first = await serve()
  await onlooker.connect()
  const second = await start(true)
  await whenWaiting(second)
  second.child.kill('SIGSTOP')
  for (let n = 0; n < 10; n += 1)
    assert.is((await send(first, 'PUT', `/Patient/n${n}`, patient(`n${n}`, 'x'))).status, 201)
  second.child.kill('SIGCONT')
  await whenWaiting(second)
  assert.is(await reasonOf(first), 'ok')
})

test.run()
